; Memory for large arrays: what is freed is kept for the next one of about its size,
; instead of going back to the system, whose fresh pages cost many times what most
; kernels do with them.
;
; These are the functions of a NumPy data allocator. Small memory is left to the allocator
; that was there before. A block is mapped by itself and begins with a head of 64 bytes:
; its address mixed with a number, by which it is known; its size; the bytes asked for.
; Nobody else's memory can be taken for one: what begins 64 bytes into a page may be read
; from the page's start, and holds its own address nowhere else.

%slot = type { ptr, i64 }
%blocks = type {
  [16 x i64],   ;  0 mutex
  [5 x ptr],    ;  1 the allocator before: context, malloc, calloc, realloc, free
  i64,          ;  2 least: bytes of an array that gets a block
  i64,          ;  3 limit: bytes that are kept at most
  i64,          ;  4 kept: bytes without an array
  i64,          ;  5 count: of blocks that are kept
  i64,          ;  6 live: bytes of blocks with an array
  i64,          ;  7 reused: how often a kept block served
  i64,          ;  8 mapped: how often none did
  [64 x %slot]  ;  9 the kept blocks, oldest first
}

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

define void @blocks_initialise(ptr %blocks) {
  call i32 @pthread_mutex_init(ptr %blocks, ptr null)
  ret void
}

define ptr @blocks_malloc(ptr %blocks, i64 %size) {
entry:
  %least.at = getelementptr %blocks, ptr %blocks, i32 0, i32 2
  %least = load i64, ptr %least.at
  %small = icmp ult i64 %size, %least
  br i1 %small, label %before, label %large
before:
  %context = call ptr @former(ptr %blocks, i64 0)
  %function = call ptr @former(ptr %blocks, i64 1)
  %given = call ptr %function(ptr %context, i64 %size)
  ret ptr %given
large:
  %kept = call ptr @taken(ptr %blocks, i64 %size)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %fresh, label %end
fresh:
  %new = call ptr @mapped(ptr %blocks, i64 %size)
  br label %end
end:
  %found = phi ptr [ %kept, %large ], [ %new, %fresh ]
  ret ptr %found
}

define ptr @blocks_calloc(ptr %blocks, i64 %count, i64 %each) {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue { i64, i1 } %product, 0
  %beyond = extractvalue { i64, i1 } %product, 1
  br i1 %beyond, label %refused, label %fits
refused:
  ret ptr null
fits:
  %least.at = getelementptr %blocks, ptr %blocks, i32 0, i32 2
  %least = load i64, ptr %least.at
  %small = icmp ult i64 %size, %least
  br i1 %small, label %before, label %large
before:
  %context = call ptr @former(ptr %blocks, i64 0)
  %function = call ptr @former(ptr %blocks, i64 2)
  %given = call ptr %function(ptr %context, i64 %count, i64 %each)
  ret ptr %given
large:
  %kept = call ptr @taken(ptr %blocks, i64 %size)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %fresh, label %used
used:
  call void @llvm.memset.p0.i64(ptr %kept, i8 0, i64 %size, i1 false)
  ret ptr %kept
fresh:
  %new = call ptr @mapped(ptr %blocks, i64 %size)
  ret ptr %new
}

define ptr @blocks_realloc(ptr %blocks, ptr %array, i64 %size) {
entry:
  %ours = call i1 @is_block(ptr %array)
  br i1 %ours, label %move, label %before
before:
  %context = call ptr @former(ptr %blocks, i64 0)
  %function = call ptr @former(ptr %blocks, i64 3)
  %given = call ptr %function(ptr %context, ptr %array, i64 %size)
  ret ptr %given
move:
  %new = call ptr @blocks_malloc(ptr %blocks, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %end, label %copy
copy:
  %had.at = getelementptr i64, ptr %array, i64 -6
  %had = load i64, ptr %had.at
  %both = call i64 @llvm.umin.i64(i64 %had, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %array, i64 %both, i1 false)
  call void @blocks_free(ptr %blocks, ptr %array, i64 %had)
  br label %end
end:
  ret ptr %new
}

define void @blocks_free(ptr %blocks, ptr %array, i64 %size) {
entry:
  %ours = call i1 @is_block(ptr %array)
  br i1 %ours, label %block, label %before
before:
  %context = call ptr @former(ptr %blocks, i64 0)
  %function = call ptr @former(ptr %blocks, i64 4)
  call void %function(ptr %context, ptr %array, i64 %size)
  ret void
block:
  %base = getelementptr i8, ptr %array, i64 -64
  %capacity.at = getelementptr i64, ptr %base, i64 1
  %capacity = load i64, ptr %capacity.at
  %live.at = getelementptr %blocks, ptr %blocks, i32 0, i32 6
  atomicrmw sub ptr %live.at, i64 %capacity monotonic
  store i64 0, ptr %base
  %limit.at = getelementptr %blocks, ptr %blocks, i32 0, i32 3
  %limit = load i64, ptr %limit.at
  %vast = icmp ugt i64 %capacity, %limit
  br i1 %vast, label %return, label %keep
return:
  call i32 @munmap(ptr %base, i64 %capacity)
  ret void
keep:
  call i32 @pthread_mutex_lock(ptr %blocks)
  %kept.at = getelementptr %blocks, ptr %blocks, i32 0, i32 4
  %count.at = getelementptr %blocks, ptr %blocks, i32 0, i32 5
  br label %look
look:
  %kept = load i64, ptr %kept.at
  %count = load i64, ptr %count.at
  %sum = add i64 %kept, %capacity
  %above = icmp ugt i64 %sum, %limit
  %full = icmp eq i64 %count, 64
  %crowded = or i1 %above, %full
  br i1 %crowded, label %evict, label %add
evict:
  %oldest = call %slot @removed(ptr %blocks, i64 0)
  %old = extractvalue %slot %oldest, 0
  %old.size = extractvalue %slot %oldest, 1
  call i32 @munmap(ptr %old, i64 %old.size)
  br label %look
add:
  %slot = getelementptr %blocks, ptr %blocks, i32 0, i32 9, i64 %count
  store ptr %base, ptr %slot
  %slot.size = getelementptr %slot, ptr %slot, i32 0, i32 1
  store i64 %capacity, ptr %slot.size
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  store i64 %sum, ptr %kept.at
  call i32 @pthread_mutex_unlock(ptr %blocks)
  ret void
}

; Give all kept blocks back to the system; how many bytes they had.
define i64 @blocks_release(ptr %blocks) {
entry:
  call i32 @pthread_mutex_lock(ptr %blocks)
  %kept.at = getelementptr %blocks, ptr %blocks, i32 0, i32 4
  %kept = load i64, ptr %kept.at
  %count.at = getelementptr %blocks, ptr %blocks, i32 0, i32 5
  br label %look
look:
  %count = load i64, ptr %count.at
  %any = icmp ugt i64 %count, 0
  br i1 %any, label %one, label %end
one:
  %last = sub i64 %count, 1
  %slot = call %slot @removed(ptr %blocks, i64 %last)
  %base = extractvalue %slot %slot, 0
  %size = extractvalue %slot %slot, 1
  call i32 @munmap(ptr %base, i64 %size)
  br label %look
end:
  call i32 @pthread_mutex_unlock(ptr %blocks)
  ret i64 %kept
}

; A word of the allocator that was there before.
define internal ptr @former(ptr %blocks, i64 %number) {
  %at = getelementptr %blocks, ptr %blocks, i32 0, i32 1, i64 %number
  %word = load ptr, ptr %at
  ret ptr %word
}

define internal i1 @is_block(ptr %array) {
entry:
  %address = ptrtoint ptr %array to i64
  %place = and i64 %address, 4095
  %behind.head = icmp eq i64 %place, 64
  br i1 %behind.head, label %look, label %no
look:
  %head = getelementptr i8, ptr %array, i64 -64
  %mark = load i64, ptr %head
  %own = xor i64 %address, MARK
  %same = icmp eq i64 %mark, %own
  ret i1 %same
no:
  ret i1 false
}

; How large a block for so many bytes is.
define internal i64 @capacity_for(i64 %size) {
  %more = add i64 %size, 16447
  %whole = and i64 %more, -16384
  ret i64 %whole
}

; The array of a kept block that is large enough, by a quarter at most; null if none is.
define internal ptr @taken(ptr %blocks, i64 %size) {
entry:
  %total = call i64 @capacity_for(i64 %size)
  %quarter = lshr i64 %total, 2
  %most = add i64 %total, %quarter
  %over = add i64 %most, 1
  call i32 @pthread_mutex_lock(ptr %blocks)
  %count.at = getelementptr %blocks, ptr %blocks, i32 0, i32 5
  %count = load i64, ptr %count.at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %step ]
  %best = phi i64 [ -1, %entry ], [ %better, %step ]
  %least = phi i64 [ %over, %entry ], [ %lesser, %step ]
  %any = icmp ult i64 %i, %count
  br i1 %any, label %step, label %done
step:
  %size.at = getelementptr %blocks, ptr %blocks, i32 0, i32 9, i64 %i, i32 1
  %capacity = load i64, ptr %size.at
  %enough = icmp uge i64 %capacity, %total
  %fewer = icmp ule i64 %capacity, %least
  %less = icmp ult i64 %capacity, %over
  %near = and i1 %fewer, %less
  %good = and i1 %enough, %near
  %better = select i1 %good, i64 %i, i64 %best
  %lesser = select i1 %good, i64 %capacity, i64 %least
  %next = add i64 %i, 1
  br label %look
done:
  %none = icmp slt i64 %best, 0
  br i1 %none, label %nothing, label %found
nothing:
  call i32 @pthread_mutex_unlock(ptr %blocks)
  ret ptr null
found:
  %slot = call %slot @removed(ptr %blocks, i64 %best)
  call i32 @pthread_mutex_unlock(ptr %blocks)
  %base = extractvalue %slot %slot, 0
  %reused = getelementptr %blocks, ptr %blocks, i32 0, i32 7
  atomicrmw add ptr %reused, i64 1 monotonic
  %array = call ptr @handed(ptr %blocks, ptr %base, i64 %size)
  ret ptr %array
}

; A slot taken out of the list, which is locked.
define internal %slot @removed(ptr %blocks, i64 %number) {
  %count.at = getelementptr %blocks, ptr %blocks, i32 0, i32 5
  %count = load i64, ptr %count.at
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr %count.at
  %at = getelementptr %blocks, ptr %blocks, i32 0, i32 9, i64 %number
  %slot = load %slot, ptr %at
  %size = extractvalue %slot %slot, 1
  %kept.at = getelementptr %blocks, ptr %blocks, i32 0, i32 4
  %kept = load i64, ptr %kept.at
  %rest = sub i64 %kept, %size
  store i64 %rest, ptr %kept.at
  %behind = getelementptr %slot, ptr %at, i64 1
  %younger = sub i64 %fewer, %number
  %bytes = mul i64 %younger, 16
  call void @llvm.memmove.p0.p0.i64(ptr %at, ptr %behind, i64 %bytes, i1 false)
  ret %slot %slot
}

; The array of a new block, all zeros; null where the system has no more.
define internal ptr @mapped(ptr %blocks, i64 %size) {
entry:
  %vast = icmp ugt i64 %size, 4611686018427387904
  br i1 %vast, label %refused, label %ask
ask:
  %total = call i64 @capacity_for(i64 %size)
  %first = call ptr @mmap(ptr null, i64 %total, i32 3, i32 PRIVATE, i32 -1, i64 0)
  %none = icmp eq ptr %first, inttoptr (i64 -1 to ptr)
  br i1 %none, label %again, label %got
again:
  call i64 @blocks_release(ptr %blocks)
  %second = call ptr @mmap(ptr null, i64 %total, i32 3, i32 PRIVATE, i32 -1, i64 0)
  %still = icmp eq ptr %second, inttoptr (i64 -1 to ptr)
  br i1 %still, label %refused, label %got
refused:
  ret ptr null
got:
  %base = phi ptr [ %first, %ask ], [ %second, %again ]
  %capacity.at = getelementptr i64, ptr %base, i64 1
  %many = icmp uge i64 %total, 4194304
  %worth = and i1 %many, HAS_HUGE
  br i1 %worth, label %advise, label %end
advise:
  call i32 @madvise(ptr %base, i64 %total, i32 HUGE)
  br label %end
end:
  store i64 %total, ptr %capacity.at
  %mapped = getelementptr %blocks, ptr %blocks, i32 0, i32 8
  atomicrmw add ptr %mapped, i64 1 monotonic
  %array = call ptr @handed(ptr %blocks, ptr %base, i64 %size)
  ret ptr %array
}

; The array of a block, which is marked as one that lives.
define internal ptr @handed(ptr %blocks, ptr %base, i64 %size) {
  %array = getelementptr i8, ptr %base, i64 64
  %address = ptrtoint ptr %array to i64
  %mark = xor i64 %address, MARK
  store i64 %mark, ptr %base
  %asked = getelementptr i64, ptr %base, i64 2
  store i64 %size, ptr %asked
  %capacity.at = getelementptr i64, ptr %base, i64 1
  %capacity = load i64, ptr %capacity.at
  %live.at = getelementptr %blocks, ptr %blocks, i32 0, i32 6
  atomicrmw add ptr %live.at, i64 %capacity monotonic
  ret ptr %array
}
