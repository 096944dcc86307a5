; Attention, a block of queries of one head after the other: what is in memory besides
; inputs and results are blocks of scores and weights, which stay in the caches.
;
; Matrices are row-major with a line length each; BLAS multiplies them. Softmax and its
; gradient are kernels of their own, whose tables are made here: operands, result, rows,
; columns. With `causal`, a key is hidden from the queries before its own place: its
; score is minus infinity, and a block has no keys that all of its queries do not see.
;
; A strand is what one thread does at a time: it has blocks of its own, and takes each
; strand-th piece of work, so that what is computed depends on sizes alone.

%head = type [8 x ptr]  ; see `_HEAD` of attention_kernels.py

; softmax of scores, into weights
define internal void @softmax_rows(ptr %kernel, ptr %scores, ptr %weights, i64 %rows,
                                   i64 %columns, i64 %first, i1 %causal) {
entry:
  %table = alloca [4 x i64]
  br i1 %causal, label %row, label %all
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %r.next = add i64 %r, 1
  %seen = add i64 %first, %r.next
  %line = mul i64 %r, %columns
  %row.at = getelementptr REAL, ptr %scores, i64 %line
  br label %hide
hide:
  %c = phi i64 [ %seen, %row ], [ %c.next, %hidden ]
  %hidden.more = icmp slt i64 %c, %columns
  br i1 %hidden.more, label %hidden, label %row.end
hidden:
  %c.at = getelementptr REAL, ptr %row.at, i64 %c
  store REAL 0xFFF0000000000000, ptr %c.at
  %c.next = add i64 %c, 1
  br label %hide
row.end:
  %rows.more = icmp slt i64 %r.next, %rows
  br i1 %rows.more, label %row, label %all
all:
  %from.at = getelementptr i64, ptr %table, i64 0
  %to.at = getelementptr i64, ptr %table, i64 1
  %rows.at = getelementptr i64, ptr %table, i64 2
  %columns.at = getelementptr i64, ptr %table, i64 3
  store ptr %scores, ptr %from.at
  store ptr %weights, ptr %to.at
  store i64 %rows, ptr %rows.at
  store i64 %columns, ptr %columns.at
  call void %kernel(ptr %table, i64 0, i64 %rows)
  ret void
}

; a block of a mask, whose rows lie somewhere, to where scores are added to it
define internal void @masked_rows(ptr %scores, ptr %mask, i64 %rows, i64 %columns,
                                  i64 %line) {
entry:
  %bytes = mul i64 %columns, SIZE
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row ]
  %to = mul i64 %r, %columns
  %to.at = getelementptr REAL, ptr %scores, i64 %to
  %from = mul i64 %r, %line
  %from.at = getelementptr REAL, ptr %mask, i64 %from
  call void @llvm.memcpy.p0.p0.i64(ptr %to.at, ptr %from.at, i64 %bytes, i1 false)
  %r.next = add i64 %r, 1
  %rows.more = icmp slt i64 %r.next, %rows
  br i1 %rows.more, label %row, label %end
end:
  ret void
}

; what each query gets of the values
define void @FORWARD(ptr %table, i64 %low, i64 %high) {
entry:
WORDS
  br label %strands
strands:
  %strand = phi i64 [ %low, %entry ], [ %strand.next, %pieces ]
  %strands.more = icmp slt i64 %strand, %high
  br i1 %strands.more, label %own, label %end
own:
  %strand.next = add i64 %strand, 1
  %begins = mul i64 %strand, %slot
  %scores = getelementptr i8, ptr %scratch, i64 %begins
  %weights = getelementptr i8, ptr %scores, i64 %block.bytes
  %count = mul i64 %heads, %blocks
  br label %pieces
pieces:
  %piece = phi i64 [ %strand, %own ], [ %piece.next, %do ]
  %pieces.more = icmp slt i64 %piece, %count
  br i1 %pieces.more, label %do, label %strands
do:
  %piece.next = add i64 %piece, %strands.all
  %number = sdiv i64 %piece, %blocks
  %block = srem i64 %piece, %blocks
HEADS
BLOCK
  call void @softmax_rows(ptr %softmax, ptr %scores, ptr %weights, i64 %m, i64 %n,
                          i64 %first, i1 %causal)
  %y.from = mul i64 %first, %y.line
  %y.first = getelementptr REAL, ptr %y, i64 %y.from
  GEMM 111 111, m depth n, REAL 1.0, weights n, v v.line, REAL 0.0, y.first y.line
  br label %pieces
end:
  ret void
}

; the gradients of queries, keys and values: a head is a piece
define void @BACKWARD(ptr %table, i64 %low, i64 %high) {
entry:
  %inner = alloca [5 x i64]
WORDS
  %key.count = mul i64 %keys, %width
  %key.bytes = mul i64 %key.count, SIZE
  %value.count = mul i64 %keys, %depth
  %value.bytes = mul i64 %value.count, SIZE
  br label %strands
strands:
  %strand = phi i64 [ %low, %entry ], [ %strand.next, %pieces ]
  %strands.more = icmp slt i64 %strand, %high
  br i1 %strands.more, label %own, label %end
own:
  %strand.next = add i64 %strand, 1
  %begins = mul i64 %strand, %slot
  %scores = getelementptr i8, ptr %scratch, i64 %begins
  %weights = getelementptr i8, ptr %scores, i64 %block.bytes
  %slopes = getelementptr i8, ptr %weights, i64 %block.bytes
  br label %pieces
pieces:
  %number = phi i64 [ %strand, %own ], [ %number.next, %done ]
  %pieces.more = icmp slt i64 %number, %heads
  br i1 %pieces.more, label %whole, label %strands
whole:
HEADS
  call void @llvm.memset.p0.i64(ptr %gk, i8 0, i64 %key.bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %gv, i8 0, i64 %value.bytes, i1 false)
  br label %parts
parts:
  %block = phi i64 [ 0, %whole ], [ %block.next, %do ]
  %parts.more = icmp slt i64 %block, %blocks
  br i1 %parts.more, label %do, label %done
do:
  %block.next = add i64 %block, 1
BLOCK
  call void @softmax_rows(ptr %softmax, ptr %scores, ptr %weights, i64 %m, i64 %n,
                          i64 %first, i1 %causal)
  %ct.from = mul i64 %first, %y.line
  %ct.first = getelementptr REAL, ptr %y, i64 %ct.from
  GEMM 111 112, m n depth, REAL 1.0, ct.first y.line, v v.line, REAL 0.0, scores n
  GEMM 112 111, n depth m, REAL 1.0, weights n, ct.first y.line, REAL 1.0, gv depth
  %a.at = getelementptr i64, ptr %inner, i64 0
  %b.at = getelementptr i64, ptr %inner, i64 1
  %c.at = getelementptr i64, ptr %inner, i64 2
  %m.at = getelementptr i64, ptr %inner, i64 3
  %n.at = getelementptr i64, ptr %inner, i64 4
  store ptr %scores, ptr %a.at
  store ptr %weights, ptr %b.at
  store ptr %slopes, ptr %c.at
  store i64 %m, ptr %m.at
  store i64 %n, ptr %n.at
  call void %through(ptr %inner, i64 0, i64 %m)
  %gq.from = mul i64 %first, %width
  %gq.first = getelementptr REAL, ptr %gq, i64 %gq.from
  GEMM 111 111, m width n, REAL %scale, slopes n, k k.line, REAL 0.0, gq.first width
  GEMM 112 111, n width m, REAL %scale, slopes n, q.first q.line, REAL 1.0, gk width
  br label %parts
done:
  %number.next = add i64 %number, %strands.all
  br label %pieces
end:
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
