"""Counts in the sequence of operations of a GPU and in HLO, on small texts in the form of XLA's dumps."""

from benchmarks.gpu import memory, thunks
from benchmarks.gpu.devices import GPUS, describe

SEQUENCE = """
000: kCommandBuffer [source | sink]
    001: kCopy         [source       | next=002 (1)] kCopy
    002: kWhile        [prev=001 (1) | sink        ]
condition:
        003: kCustomKernel [source | sink] compare grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
      body:
        004: kCustomKernel [source | sink] add grid: [64, 1, 1] threads: [128, 1, 1]  shared_memory: 0 bytes
        005: kConditional  [source | sink]
          branch_0:
            006: kCopy         [source | sink] kCopy
          branch_1:
            007: kCopy         [source | sink] kCopy
            008: kCustomKernel [source | sink] scale grid: [2, 3, 1] threads: [32, 1, 1]  shared_memory: 0 bytes
        009: kCopy         [source | sink] kCopy
010: kWhile [source | sink]
condition:
    011: kCustomKernel [source | sink] compare grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
  body:
    012: kCublasLtMatmul [source | sink] gemm
"""

HLO = """
%kernel (p0: f32[55,8], p1: f32[8]) -> f32[8] {
  %p0 = f32[55,8]{1,0} parameter(0)
  %p1 = f32[8]{0} parameter(1)
  %slice.1 = f32[1,8]{1,0} slice(%p0), slice={[3:4], [0:8]}
  %row = f32[8]{0} bitcast(%slice.1)
  ROOT %sum = f32[8]{0} add(%row, %p1)
}

%step (s: (f32[8])) -> (f32[8]) {
  %s = (f32[8]{0}) parameter(0)
  %v = f32[8]{0} get-tuple-element(%s), index=0
  %minus = f32[8]{0} negate(%v)
  ROOT %t = (f32[8]{0}) tuple(%minus)
}

%round (r: (s32[], f32[55,8], f32[8])) -> (s32[], f32[55,8], f32[8]) {
  %r = (s32[], f32[55,8]{1,0}, f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%r), index=0
  %a = f32[55,8]{1,0} get-tuple-element(%r), index=1
  %b = f32[8]{0} get-tuple-element(%r), index=2
  %fusion = f32[8]{0} fusion(%a, %b), kind=kLoop, calls=%kernel
  %start = (f32[8]{0}) tuple(%fusion)
  %looped = (f32[8]{0}) while(%start), condition=%more, body=%step
  %c = f32[8]{0} get-tuple-element(%looped), index=0
  ROOT %next = (s32[], f32[55,8]{1,0}, f32[8]{0}) tuple(%i, %a, %c)
}

%points (q: (s32[], f32[55,8], f32[8])) -> (s32[], f32[55,8], f32[8]) {
  %q = (s32[], f32[55,8]{1,0}, f32[8]{0}) parameter(0)
  ROOT %rounds = (s32[], f32[55,8]{1,0}, f32[8]{0}) while(%q), condition=%more, body=%round
}

ENTRY %main (x: (s32[], f32[55,8], f32[8])) -> (s32[], f32[55,8], f32[8]) {
  %x = (s32[], f32[55,8]{1,0}, f32[8]{0}) parameter(0)
  ROOT %all = (s32[], f32[55,8]{1,0}, f32[8]{0}) while(%x), condition=%more, body=%points
}
"""


def test_a_sequence_is_read_with_what_is_inside_loops_and_branches():
    graph, outside = thunks.parse(SEQUENCE)
    loop = graph.parts["nodes"][1]
    assert loop.kind == "kWhile" and [x.kernel for x in loop.parts["condition"]] == ["compare"]
    assert [x.kind for x in loop.parts["body"]] == ["kCustomKernel", "kConditional", "kCopy"]
    assert loop.parts["body"][0].threads == 64 * 128
    assert [x.kernel for x in loop.parts["body"][1].parts["branch_1"]] == ["", "scale"]
    assert outside.parts["body"][0].kind == "kCublasLtMatmul"


def test_a_loop_whose_predicate_no_kernel_computes():
    """XLA prints the empty predicate and the label of the body on one line."""
    before, _, after = SEQUENCE.partition("        003: ")
    without = thunks.parse(f"{before}        No thunks.      {after.partition('      ')[2].lstrip()}")
    assert "body" in without[0].parts["nodes"][1].parts
    assert thunks.uncomputed_predicates(thunks.parse(SEQUENCE)) == 0
    assert thunks.uncomputed_predicates(without) == 1


def test_nodes_are_those_of_loops_that_turn_once_and_of_the_longest_branch():
    graph, outside = thunks.parse(SEQUENCE)
    body = 1 + (1 + 2) + 1  # a kernel; a branch with its two nodes; a copy
    assert thunks.nodes([graph]) == 1 + (1 + 2 * 1 + body)
    assert thunks.further_steps([graph]) == [1 + body]
    assert thunks.nodes([outside]) == 1 + 2 + 1


def test_most_rounds_take_the_shortest_branch():
    graph, _ = thunks.parse(SEQUENCE)
    shortest = min(map(len, graph.parts["nodes"][1].parts["body"][1].parts.values()))
    assert shortest < 2
    assert thunks.nodes([graph]) - thunks.nodes([graph], min) == 2 - shortest


def test_the_host_starts_a_graph_once_and_waits_for_loops_outside():
    tree = thunks.parse(SEQUENCE)
    assert thunks.launches(tree[:1]) == 1 and thunks.host_predicates(tree[:1]) == 0
    assert thunks.launches(tree) == 1 + 3 and thunks.host_predicates(tree) == 1
    assert thunks.calls_of_libraries(tree) == ["kCublasLtMatmul"]


def test_bytes_count_slices_and_not_the_arrays_they_are_taken_from():
    row = 8 * 4
    assert memory.bytes_of_round(HLO, with_loops=False) == 3 * row  # a row of the matrix and a vector read, one written
    assert memory.bytes_of_round(HLO, with_loops=True) == 3 * row + 2 * row  # the step reads and writes one vector


def test_bytes_of_most_rounds_are_those_of_the_shortest_branch():
    branch = """
%longer (u: f32[8]) -> f32[8] {
  %u = f32[8]{0} parameter(0)
  %w = f32[8]{0} negate(%u)
  ROOT %z = f32[8]{0} negate(%w)
}

%shorter (y: f32[8]) -> f32[8] {
  %y = f32[8]{0} parameter(0)
  ROOT %v2 = f32[8]{0} negate(%y)
}
"""
    chosen = "  %chosen = f32[8]{0} conditional(%i, %b, %b), true_computation=%longer, false_computation=%shorter\n"
    hlo = branch + HLO.replace(
        "  %start = (f32[8]{0}) tuple(%fusion)\n", chosen + "  %start = (f32[8]{0}) tuple(%fusion)\n"
    )
    one = 2 * 8 * 4  # a vector read and one written
    with_loops, without = (memory.bytes_of_round(hlo, x) - memory.bytes_of_round(HLO, x) for x in (True, False))
    assert with_loops - without == one


def test_devices_are_described_by_their_architecture():
    architectures = {"t4": "sm_75", "a100": "sm_80", "h100": "sm_90a", "h200": "sm_90a"}
    assert {name: gpu.sm for name, gpu in GPUS.items()} == architectures
    assert "memory_bandwidth: 320000000000" in describe(GPUS["t4"])
