; A builtin of Python's that runs a kernel on NumPy arrays.
;
; Its arguments are the arrays whose addresses the kernel gets, in this order. What it is
; bound to is an array of words:
;
;    0 kernel            1 arrays: how many        2 words: how many are behind these
;    3 pieces; less than 0 where arrays have to lie alike, and each element is a piece
;    4 grain             5 most: pieces, of more of which Python has to see to signals
;    6 pool              7 mode: where it says whether the pool runs: 0 no, ask Python;
;    8 pool_run            1 there is no other thread; 2 it runs
;    9 PyEval_SaveThread, 10 PyEval_RestoreThread
;   11 Py_IncRef         12 True                  13 False
;   14 the words that the kernel gets behind the addresses
;
; It gives True where the kernel has run, and False where Python has to serve. One chunk
; is done under Python's lock, for to give it back and to wait for it may take longer.

define ptr @launch(ptr %self, ptr %given, i64 %count) {
entry:
  %plan.at = getelementptr i8, ptr %self, i64 DATA
  %plan = load ptr, ptr %plan.at
  %arrays.at = getelementptr i64, ptr %plan, i64 1
  %arrays = load i64, ptr %arrays.at
  %words.at = getelementptr i64, ptr %plan, i64 2
  %words = load i64, ptr %words.at
  %pieces.at = getelementptr i64, ptr %plan, i64 3
  %pieces = load i64, ptr %pieces.at
  %grain.at = getelementptr i64, ptr %plan, i64 4
  %grain = load i64, ptr %grain.at
  %most.at = getelementptr i64, ptr %plan, i64 5
  %most = load i64, ptr %most.at
  %complete = icmp eq i64 %count, %arrays
  br i1 %complete, label %begin, label %refuse
begin:
  %length = add i64 %arrays, %words
  %table = alloca i64, i64 %length, align 16
  %first = load ptr, ptr %given
  %each = icmp slt i64 %pieces, 0
  br label %array
array:
  %i = phi i64 [ 0, %begin ], [ %i.next, %taken ]
  %object.at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object.at
  br i1 %each, label %compare, label %taken
compare:
  %same = call i1 @alike(ptr %first, ptr %object)
  br i1 %same, label %taken, label %refuse
taken:
  %data.at = getelementptr i8, ptr %object, i64 DATA
  %data = load i64, ptr %data.at
  %place = getelementptr i64, ptr %table, i64 %i
  store i64 %data, ptr %place
  %i.next = add i64 %i, 1
  %another = icmp slt i64 %i.next, %arrays
  br i1 %another, label %array, label %arrays.end
arrays.end:
  %behind = getelementptr i64, ptr %table, i64 %arrays
  %source = getelementptr i64, ptr %plan, i64 14
  %bytes = shl i64 %words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %source, i64 %bytes, i1 false)
  br i1 %each, label %measure, label %choose
measure:
  %elements = call i64 @elements(ptr %first)
  br label %choose
choose:
  %all = phi i64 [ %pieces, %arrays.end ], [ %elements, %measure ]
  %kernel = load ptr, ptr %plan
  %few = icmp sle i64 %all, %grain
  br i1 %few, label %alone, label %many
alone:
  call void %kernel(ptr %table, i64 0, i64 %all)
  br label %done
many:
  %too.many = icmp sgt i64 %all, %most
  br i1 %too.many, label %refuse, label %ask
ask:
  %mode.at.at = getelementptr i64, ptr %plan, i64 7
  %mode.at = load ptr, ptr %mode.at.at
  %mode = load i64, ptr %mode.at
  %closed = icmp eq i64 %mode, 0
  br i1 %closed, label %refuse, label %release
release:
  %save.at = getelementptr i64, ptr %plan, i64 9
  %save = load ptr, ptr %save.at
  %restore.at = getelementptr i64, ptr %plan, i64 10
  %restore = load ptr, ptr %restore.at
  %state = call ptr %save()
  %single = icmp eq i64 %mode, 1
  br i1 %single, label %one, label %shared
one:
  call void %kernel(ptr %table, i64 0, i64 %all)
  br label %acquire
shared:
  %pool.at = getelementptr i64, ptr %plan, i64 6
  %pool = load ptr, ptr %pool.at
  %run.at = getelementptr i64, ptr %plan, i64 8
  %run = load ptr, ptr %run.at
  call void %run(ptr %pool, ptr %kernel, ptr %table, i64 0, i64 %all, i64 %grain)
  br label %acquire
acquire:
  call void %restore(ptr %state)
  br label %done
done:
  br label %answer
refuse:
  br label %answer
answer:
  %which = phi i64 [ 12, %done ], [ 13, %refuse ]
  %result.at = getelementptr i64, ptr %plan, i64 %which
  %result = load ptr, ptr %result.at
  %keep.at = getelementptr i64, ptr %plan, i64 11
  %keep = load ptr, ptr %keep.at
  call void %keep(ptr %result)
  ret ptr %result
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Whether an array is row-major, and of the shape of the first one.
define internal i1 @alike(ptr %first, ptr %object) {
entry:
  %flags.at = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %flags.at
  %row.major = trunc i32 %flags to i1
  %rank.at = getelementptr i8, ptr %object, i64 RANK
  %rank = load i32, ptr %rank.at
  %wanted.at = getelementptr i8, ptr %first, i64 RANK
  %wanted = load i32, ptr %wanted.at
  %same.rank = icmp eq i32 %rank, %wanted
  %so.far = and i1 %row.major, %same.rank
  br i1 %so.far, label %sizes, label %differ
sizes:
  %own.at = getelementptr i8, ptr %object, i64 SHAPE
  %own = load ptr, ptr %own.at
  %other.at = getelementptr i8, ptr %first, i64 SHAPE
  %other = load ptr, ptr %other.at
  br label %next
next:
  %d = phi i32 [ 0, %sizes ], [ %d.next, %size ]
  %left = icmp slt i32 %d, %rank
  br i1 %left, label %size, label %agree
size:
  %a.at = getelementptr i64, ptr %own, i32 %d
  %a = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %other, i32 %d
  %b = load i64, ptr %b.at
  %equal = icmp eq i64 %a, %b
  %d.next = add i32 %d, 1
  br i1 %equal, label %next, label %differ
agree:
  ret i1 true
differ:
  ret i1 false
}

; How many elements an array has.
define internal i64 @elements(ptr %array) {
entry:
  %rank.at = getelementptr i8, ptr %array, i64 RANK
  %rank = load i32, ptr %rank.at
  %shape.at = getelementptr i8, ptr %array, i64 SHAPE
  %shape = load ptr, ptr %shape.at
  br label %next
next:
  %d = phi i32 [ 0, %entry ], [ %d.next, %size ]
  %so.far = phi i64 [ 1, %entry ], [ %product, %size ]
  %left = icmp slt i32 %d, %rank
  br i1 %left, label %size, label %end
size:
  %a.at = getelementptr i64, ptr %shape, i32 %d
  %a = load i64, ptr %a.at
  %product = mul i64 %so.far, %a
  %d.next = add i32 %d, 1
  br label %next
end:
  ret i64 %so.far
}
