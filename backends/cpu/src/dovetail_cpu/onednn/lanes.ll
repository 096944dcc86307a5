; Primitives of oneDNN, done for one part of a batch after the other.
;
; A lane is what one thread needs: memory objects of its own, and the steps that use
; them. Lanes take the number of the next part off one counter, so that a lane whose
; thread is kept off its core delays no more than the part that it has.
;
; oneDNN would share each step among threads of OpenMP, which know nothing of the pool
; that runs lanes: they are told to be one, and to be as many as before at the end.

%work = type {
  ptr,  ; 0 dnnl_primitive_execute
  ptr,  ; 1 dnnl_memory_set_data_handle
  ptr,  ; 2 omp_get_max_threads
  ptr,  ; 3 omp_set_num_threads
  i64,  ; 4 taken: how many parts have been taken
  i64,  ; 5 parts: how many there are
  i64,  ; 6 status: what the first step that failed gave, else 0
  ptr,  ; 7 bases: the address of each operand
  ptr   ; 8 lanes: the address of each
}
%lane = type {
  i64,  ; 0 number of places
  ptr,  ; 1 places
  i64,  ; 2 number of steps
  ptr   ; 3 steps
}
; a memory object, its operand, bytes from part to part, and to where it begins
%place = type { ptr, i64, i64, i64 }
; a primitive, a stream, its arguments: number, where
%step = type { ptr, ptr, i64, ptr }

define void @onednn_lanes(ptr %work, i64 %low, i64 %high) {
entry:
  %maximum.at = getelementptr %work, ptr %work, i32 0, i32 2
  %maximum = load ptr, ptr %maximum.at
  %choose.at = getelementptr %work, ptr %work, i32 0, i32 3
  %choose = load ptr, ptr %choose.at
  %before = call i32 %maximum()
  call void %choose(i32 1)
  br label %next
next:
  %number = phi i64 [ %low, %entry ], [ %following, %run ]
  %more = icmp slt i64 %number, %high
  br i1 %more, label %run, label %end
run:
  call void @do_parts(ptr %work, i64 %number)
  %following = add i64 %number, 1
  br label %next
end:
  call void %choose(i32 %before)
  ret void
}

; Let one lane take parts until there are none left.
define internal void @do_parts(ptr %work, i64 %number) {
entry:
  %lanes.at = getelementptr %work, ptr %work, i32 0, i32 8
  %lanes = load ptr, ptr %lanes.at
  %lane.at = getelementptr ptr, ptr %lanes, i64 %number
  %lane = load ptr, ptr %lane.at
  %taken.at = getelementptr %work, ptr %work, i32 0, i32 4
  %parts.at = getelementptr %work, ptr %work, i32 0, i32 5
  %parts = load i64, ptr %parts.at
  br label %take
take:
  %part = atomicrmw add ptr %taken.at, i64 1 monotonic
  %mine = icmp slt i64 %part, %parts
  br i1 %mine, label %do, label %end
do:
  call void @put_places(ptr %work, ptr %lane, i64 %part)
  call void @do_steps(ptr %work, ptr %lane)
  br label %take
end:
  ret void
}

; Point memory objects to where a part lies.
define internal void @put_places(ptr %work, ptr %lane, i64 %part) {
entry:
  %put.at = getelementptr %work, ptr %work, i32 0, i32 1
  %put = load ptr, ptr %put.at
  %bases.at = getelementptr %work, ptr %work, i32 0, i32 7
  %bases = load ptr, ptr %bases.at
  %count = load i64, ptr %lane
  %places.at = getelementptr %lane, ptr %lane, i32 0, i32 1
  %places = load ptr, ptr %places.at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %move ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %move, label %end
move:
  %memory.at = getelementptr %place, ptr %places, i64 %i, i32 0
  %memory = load ptr, ptr %memory.at
  %operand.at = getelementptr %place, ptr %places, i64 %i, i32 1
  %operand = load i64, ptr %operand.at
  %pace.at = getelementptr %place, ptr %places, i64 %i, i32 2
  %pace = load i64, ptr %pace.at
  %base.at = getelementptr ptr, ptr %bases, i64 %operand
  %base = load ptr, ptr %base.at
  %begin.at = getelementptr %place, ptr %places, i64 %i, i32 3
  %begin = load i64, ptr %begin.at
  %along = mul i64 %pace, %part
  %offset = add i64 %along, %begin
  %address = getelementptr i8, ptr %base, i64 %offset
  call i32 %put(ptr %memory, ptr %address)
  %next = add i64 %i, 1
  br label %look
end:
  ret void
}

; Do the steps of a lane; keep the status of one that fails.
define internal void @do_steps(ptr %work, ptr %lane) {
entry:
  %execute = load ptr, ptr %work
  %status.at = getelementptr %work, ptr %work, i32 0, i32 6
  %count.at = getelementptr %lane, ptr %lane, i32 0, i32 2
  %count = load i64, ptr %count.at
  %steps.at = getelementptr %lane, ptr %lane, i32 0, i32 3
  %steps = load ptr, ptr %steps.at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %after ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %do, label %end
do:
  %primitive.at = getelementptr %step, ptr %steps, i64 %i, i32 0
  %primitive = load ptr, ptr %primitive.at
  %stream.at = getelementptr %step, ptr %steps, i64 %i, i32 1
  %stream = load ptr, ptr %stream.at
  %given.at = getelementptr %step, ptr %steps, i64 %i, i32 2
  %given = load i64, ptr %given.at
  %arguments.at = getelementptr %step, ptr %steps, i64 %i, i32 3
  %arguments = load ptr, ptr %arguments.at
  %number = trunc i64 %given to i32
  %status = call i32 %execute(ptr %primitive, ptr %stream, i32 %number, ptr %arguments)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %note, label %after
note:
  %wide = sext i32 %status to i64
  store atomic i64 %wide, ptr %status.at monotonic, align 8
  br label %after
after:
  %next = add i64 %i, 1
  br label %look
end:
  ret void
}
