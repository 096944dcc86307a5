; A pool of threads for kernels: fork and join, without Python.
;
; A caller lays down a job and counts its chunks in `unclaimed`. Whoever takes one off
; that count has a chunk, and while anybody has one the job stays as it is; a count of 0
; or less means that there is nothing to do, so those who come late need not be awaited.
; The caller works as well, and returns when `finished` has reached the number of chunks.
;
; Workers that have nothing to do spin for a moment and then sleep. A worker that finds
; that it was kept off its core while it spun (others need it) has a quarter of its
; patience left; with every job it regains an eighth and half a microsecond.
;
; What is written often by different threads has cache lines of its own.

%pool = type {
  [8 x i64],     ;  0 generation: moves when there is a job, and when workers shall end
  [8 x i64],     ;  1 unclaimed
  [8 x i64],     ;  2 finished
  [8 x i64],     ;  3 busy: 1 while a caller has the pool
  [8 x i64],     ;  4 sleepers: workers that wait for `work`
  [8 x i64],     ;  5 waiting: 1 while the caller waits for `done`
  ptr,           ;  6 kernel
  ptr,           ;  7 arguments
  i64,           ;  8 low
  i64,           ;  9 high
  i64,           ; 10 grain
  i64,           ; 11 chunks
  i64,           ; 12 stop: 1 when workers shall end
  i64,           ; 13 patience: nanoseconds to spin for at most
  [16 x i64],    ; 14 mutex
  [16 x i64],    ; 15 work: a condition
  [16 x i64]     ; 16 done: a condition
}
%time = type { i64, i64 }

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)

; Make a pool without workers of memory that is all 0.
define void @pool_initialise(ptr %pool) {
  %mutex = getelementptr %pool, ptr %pool, i32 0, i32 14
  %work = getelementptr %pool, ptr %pool, i32 0, i32 15
  %done = getelementptr %pool, ptr %pool, i32 0, i32 16
  call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  call i32 @pthread_cond_init(ptr %work, ptr null)
  call i32 @pthread_cond_init(ptr %done, ptr null)
  ret void
}

; Let workers in who spin for so many nanoseconds.
define void @pool_open(ptr %pool, i64 %patience) {
  %stop = getelementptr %pool, ptr %pool, i32 0, i32 12
  store atomic i64 0, ptr %stop seq_cst, align 8
  %patience.at = getelementptr %pool, ptr %pool, i32 0, i32 13
  store i64 %patience, ptr %patience.at
  ret void
}

; Tell the workers to end when they are done with what they have.
define void @pool_stop(ptr %pool) {
  %stop = getelementptr %pool, ptr %pool, i32 0, i32 12
  store atomic i64 1, ptr %stop seq_cst, align 8
  call void @announce(ptr %pool)
  ret void
}

; Do the pieces from %low to %high, in chunks of %grain, with the workers if they are
; free, else alone.
define void @pool_run(ptr %pool, ptr %kernel, ptr %arguments,
                      i64 %low, i64 %high, i64 %grain) {
entry:
  %count = sub i64 %high, %low
  %several = icmp sgt i64 %count, %grain
  br i1 %several, label %take, label %alone
take:
  %busy = getelementptr %pool, ptr %pool, i32 0, i32 3
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %taken = extractvalue { i64, i1 } %pair, 1
  br i1 %taken, label %share, label %alone
alone:
  call void %kernel(ptr %arguments, i64 %low, i64 %high)
  ret void
share:
  %less = sub i64 %grain, 1
  %more = add i64 %count, %less
  %chunks = sdiv i64 %more, %grain
  %kernel.at = getelementptr %pool, ptr %pool, i32 0, i32 6
  store ptr %kernel, ptr %kernel.at
  %arguments.at = getelementptr %pool, ptr %pool, i32 0, i32 7
  store ptr %arguments, ptr %arguments.at
  %low.at = getelementptr %pool, ptr %pool, i32 0, i32 8
  store i64 %low, ptr %low.at
  %high.at = getelementptr %pool, ptr %pool, i32 0, i32 9
  store i64 %high, ptr %high.at
  %grain.at = getelementptr %pool, ptr %pool, i32 0, i32 10
  store i64 %grain, ptr %grain.at
  %chunks.at = getelementptr %pool, ptr %pool, i32 0, i32 11
  store i64 %chunks, ptr %chunks.at
  %finished = getelementptr %pool, ptr %pool, i32 0, i32 2
  store atomic i64 0, ptr %finished monotonic, align 8
  %unclaimed = getelementptr %pool, ptr %pool, i32 0, i32 1
  store atomic i64 %chunks, ptr %unclaimed release, align 8
  call void @announce(ptr %pool)
  call void @work(ptr %pool)
  call void @join(ptr %pool, i64 %chunks)
  store atomic i64 0, ptr %busy release, align 8
  ret void
}

; Let workers know that there is something new, and wake those who sleep.
define internal void @announce(ptr %pool) {
  atomicrmw add ptr %pool, i64 1 seq_cst
  %sleepers.at = getelementptr %pool, ptr %pool, i32 0, i32 4
  %sleepers = load atomic i64, ptr %sleepers.at seq_cst, align 8
  %asleep = icmp sgt i64 %sleepers, 0
  br i1 %asleep, label %wake, label %end
wake:
  %mutex = getelementptr %pool, ptr %pool, i32 0, i32 14
  %condition = getelementptr %pool, ptr %pool, i32 0, i32 15
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_mutex_unlock(ptr %mutex)
  call i32 @pthread_cond_broadcast(ptr %condition)
  br label %end
end:
  ret void
}

; Do chunks until nobody has any left to give.
define internal void @work(ptr %pool) {
entry:
  %unclaimed = getelementptr %pool, ptr %pool, i32 0, i32 1
  %finished = getelementptr %pool, ptr %pool, i32 0, i32 2
  %waiting.at = getelementptr %pool, ptr %pool, i32 0, i32 5
  %kernel.at = getelementptr %pool, ptr %pool, i32 0, i32 6
  %arguments.at = getelementptr %pool, ptr %pool, i32 0, i32 7
  %low.at = getelementptr %pool, ptr %pool, i32 0, i32 8
  %high.at = getelementptr %pool, ptr %pool, i32 0, i32 9
  %grain.at = getelementptr %pool, ptr %pool, i32 0, i32 10
  %chunks.at = getelementptr %pool, ptr %pool, i32 0, i32 11
  br label %look
look:
  %seen = load atomic i64, ptr %unclaimed monotonic, align 8
  %worthwhile = icmp sgt i64 %seen, 0
  br i1 %worthwhile, label %claim, label %end
claim:
  %left = atomicrmw sub ptr %unclaimed, i64 1 acq_rel
  %mine = icmp sgt i64 %left, 0
  br i1 %mine, label %run, label %end
run:
  %kernel = load ptr, ptr %kernel.at
  %arguments = load ptr, ptr %arguments.at
  %low = load i64, ptr %low.at
  %high = load i64, ptr %high.at
  %grain = load i64, ptr %grain.at
  %chunks = load i64, ptr %chunks.at
  %number = sub i64 %chunks, %left
  %offset = mul i64 %number, %grain
  %first = add i64 %low, %offset
  %beyond = add i64 %first, %grain
  %last = call i64 @llvm.smin.i64(i64 %beyond, i64 %high)
  call void %kernel(ptr %arguments, i64 %first, i64 %last)
  atomicrmw add ptr %finished, i64 1 seq_cst
  %waiting = load atomic i64, ptr %waiting.at seq_cst, align 8
  %awaited = icmp ne i64 %waiting, 0
  br i1 %awaited, label %tell, label %look
tell:
  %mutex = getelementptr %pool, ptr %pool, i32 0, i32 14
  %condition = getelementptr %pool, ptr %pool, i32 0, i32 16
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_mutex_unlock(ptr %mutex)
  call i32 @pthread_cond_broadcast(ptr %condition)
  br label %look
end:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)

; Return when all chunks are finished: spin first, then sleep.
define internal void @join(ptr %pool, i64 %chunks) {
entry:
  %finished = getelementptr %pool, ptr %pool, i32 0, i32 2
  %patience.at = getelementptr %pool, ptr %pool, i32 0, i32 13
  %first = load atomic i64, ptr %finished acquire, align 8
  %early = icmp sge i64 %first, %chunks
  br i1 %early, label %end, label %start
start:
  %patience = load i64, ptr %patience.at
  %began = call i64 @now()
  br label %spin
spin:
  call void @pause()
  %count = load atomic i64, ptr %finished acquire, align 8
  %over = icmp sge i64 %count, %chunks
  br i1 %over, label %end, label %tick
tick:
  %time = call i64 @now()
  %spent = sub i64 %time, %began
  %tired = icmp sgt i64 %spent, %patience
  br i1 %tired, label %sleep, label %spin
sleep:
  %mutex = getelementptr %pool, ptr %pool, i32 0, i32 14
  %condition = getelementptr %pool, ptr %pool, i32 0, i32 16
  %waiting = getelementptr %pool, ptr %pool, i32 0, i32 5
  call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %waiting seq_cst, align 8
  br label %check
check:
  %reached = load atomic i64, ptr %finished seq_cst, align 8
  %all = icmp sge i64 %reached, %chunks
  br i1 %all, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %check
awake:
  store atomic i64 0, ptr %waiting seq_cst, align 8
  call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %end
end:
  ret void
}

; What a worker does until it shall end: a job, a moment of spinning, sleep.
define ptr @pool_worker(ptr %pool) {
entry:
  %stop.at = getelementptr %pool, ptr %pool, i32 0, i32 12
  %patience.at = getelementptr %pool, ptr %pool, i32 0, i32 13
  %most = load i64, ptr %patience.at
  br label %turn
turn:
  %patience = phi i64 [ %most, %entry ], [ %longer, %grow ], [ %shorter, %lost ]
  %seen = load atomic i64, ptr %pool seq_cst, align 8
  %stop = load atomic i64, ptr %stop.at seq_cst, align 8
  %ending = icmp ne i64 %stop, 0
  br i1 %ending, label %end, label %job
job:
  call void @work(ptr %pool)
  %began = call i64 @now()
  br label %spin
spin:
  %before = phi i64 [ %began, %job ], [ %time, %tick ]
  call void @pause()
  %generation = load atomic i64, ptr %pool acquire, align 8
  %new = icmp ne i64 %generation, %seen
  br i1 %new, label %grow, label %look
look:
  %time = call i64 @now()
  %step = sub i64 %time, %before
  %kept.off = icmp sgt i64 %step, 100000
  br i1 %kept.off, label %lost, label %tick
tick:
  %spent = sub i64 %time, %began
  %over = icmp sgt i64 %spent, %patience
  br i1 %over, label %tired, label %spin
tired:
  call void @sleep(ptr %pool, i64 %seen)
  br label %grow
grow:
  %eighth = ashr i64 %patience, 3
  %grown = add i64 %patience, %eighth
  %longer.by = add i64 %grown, 500
  %longer = call i64 @llvm.smin.i64(i64 %longer.by, i64 %most)
  br label %turn
lost:
  %shorter = ashr i64 %patience, 2
  call void @sleep(ptr %pool, i64 %seen)
  br label %turn
end:
  ret ptr null
}

; Sleep until the generation is another than the one that was seen.
define internal void @sleep(ptr %pool, i64 %seen) {
entry:
  %mutex = getelementptr %pool, ptr %pool, i32 0, i32 14
  %condition = getelementptr %pool, ptr %pool, i32 0, i32 15
  %sleepers = getelementptr %pool, ptr %pool, i32 0, i32 4
  call i32 @pthread_mutex_lock(ptr %mutex)
  atomicrmw add ptr %sleepers, i64 1 seq_cst
  br label %check
check:
  %generation = load atomic i64, ptr %pool seq_cst, align 8
  %new = icmp ne i64 %generation, %seen
  br i1 %new, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %check
awake:
  atomicrmw sub ptr %sleepers, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

; Nanoseconds of a clock that only goes forward.
define internal i64 @now() {
  %time = alloca %time
  call i32 @clock_gettime(i32 CLOCK_MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr %time, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}

; Some fifty nanoseconds in which another thread of the core may run.
define internal void @pause() {
  PAUSE
  PAUSE
  PAUSE
  PAUSE
  ret void
}
