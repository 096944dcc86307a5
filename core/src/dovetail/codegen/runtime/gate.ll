; A builtin of Python's that asks whether one or two NumPy arrays give many elements.
;
; What it is bound to is an array of words:
;
;    0 small, which serves all other calls     1 large, which serves these
;    2 least: elements that are many where shapes differ
;    3 the type of arrays
;    4 where small is called, 5 where large is called: their functions of vectorcall
;    6 much: elements that are many however shapes are
;
; Arrays of one shape, and those without dims, are never broadcast by each other. One
; array is asked as if it were both.

define ptr @gate(ptr %self, ptr %given, i64 %count, ptr %names) {
entry:
  %plan.at = getelementptr i8, ptr %self, i64 DATA
  %plan = load ptr, ptr %plan.at
  %more = sub i64 %count, 1
  %few = icmp ult i64 %more, 2
  %nameless = icmp eq ptr %names, null
  %plain = and i1 %few, %nameless
  br i1 %plain, label %types, label %answer
types:
  %a = load ptr, ptr %given
  %b.at = getelementptr ptr, ptr %given, i64 %more
  %b = load ptr, ptr %b.at
  %array.at = getelementptr ptr, ptr %plan, i64 3
  %array = load ptr, ptr %array.at
  %a.type.at = getelementptr i8, ptr %a, i64 TYPE
  %a.type = load ptr, ptr %a.type.at
  %b.type.at = getelementptr i8, ptr %b, i64 TYPE
  %b.type = load ptr, ptr %b.type.at
  %a.is = icmp eq ptr %a.type, %array
  %b.is = icmp eq ptr %b.type, %array
  %arrays = and i1 %a.is, %b.is
  br i1 %arrays, label %ranks, label %answer
ranks:
  %a.rank.at = getelementptr i8, ptr %a, i64 RANK
  %a.rank = load i32, ptr %a.rank.at
  %b.rank.at = getelementptr i8, ptr %b, i64 RANK
  %b.rank = load i32, ptr %b.rank.at
  %a.has = icmp sgt i32 %a.rank, 0
  %b.has = icmp sgt i32 %b.rank, 0
  %dims = and i1 %a.has, %b.has
  br label %shapes
shapes:
  %a.shape.at = getelementptr i8, ptr %a, i64 SHAPE
  %a.shape = load ptr, ptr %a.shape.at
  %b.shape.at = getelementptr i8, ptr %b, i64 SHAPE
  %b.shape = load ptr, ptr %b.shape.at
  %differ = icmp ne i32 %a.rank, %b.rank
  br label %last
last:
  %i = phi i32 [ %a.rank, %shapes ], [ %i.next, %both ]
  %j = phi i32 [ %b.rank, %shapes ], [ %j.next, %both ]
  %elements = phi i64 [ 1, %shapes ], [ %product, %both ]
  %differs = phi i1 [ %differ, %shapes ], [ %differs.next, %both ]
  %i.left = icmp sgt i32 %i, 0
  %j.left = icmp sgt i32 %j, 0
  %i.next = sub i32 %i, 1
  %j.next = sub i32 %j, 1
  %left = or i1 %i.left, %j.left
  br i1 %left, label %of.a, label %end
of.a:
  br i1 %i.left, label %has.a, label %of.b
has.a:
  %m.at = getelementptr i64, ptr %a.shape, i32 %i.next
  %m.read = load i64, ptr %m.at
  br label %of.b
of.b:
  %m = phi i64 [ 1, %of.a ], [ %m.read, %has.a ]
  br i1 %j.left, label %has.b, label %both
has.b:
  %n.at = getelementptr i64, ptr %b.shape, i32 %j.next
  %n.read = load i64, ptr %n.at
  br label %both
both:
  %n = phi i64 [ 1, %of.b ], [ %n.read, %has.b ]
  %m.repeats = icmp eq i64 %m, 1
  %size = select i1 %m.repeats, i64 %n, i64 %m
  %product = mul i64 %elements, %size
  %other = icmp ne i64 %m, %n
  %differs.next = or i1 %differs, %other
  br label %last
end:
  %least.at = getelementptr i64, ptr %plan, i64 2
  %least = load i64, ptr %least.at
  %many = icmp sge i64 %elements, %least
  %broadcast = and i1 %dims, %differs
  %repeated = and i1 %many, %broadcast
  %much.at = getelementptr i64, ptr %plan, i64 6
  %much = load i64, ptr %much.at
  %enough = icmp sge i64 %elements, %much
  %serves = or i1 %repeated, %enough
  br label %answer
answer:
  %place = phi i1 [ false, %entry ], [ false, %types ], [ %serves, %end ]
  %at = zext i1 %place to i64
  %function.at = getelementptr ptr, ptr %plan, i64 %at
  %function = load ptr, ptr %function.at
  %called.at = getelementptr ptr, ptr %function.at, i64 4
  %called = load ptr, ptr %called.at
  %result = tail call ptr %called(ptr %function, ptr %given, i64 %count, ptr %names)
  ret ptr %result
}
