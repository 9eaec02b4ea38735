"""Descriptions of the GPUs for which programs are compiled, in the form that XLA requires.

The numbers are from the CUDA C++ Programming Guide (technical specifications by compute capability) and from NVIDIA's
data sheets.
"""

from typing import NamedTuple


class Gpu(NamedTuple):
    """Data of one type of GPU."""

    name: str  # name of the device
    capability: str  # compute capability
    cores: int  # streaming multiprocessors
    lanes: int  # float32 units of a core
    clock_ghz: float
    bandwidth: float  # bytes a second
    memory: int  # bytes
    cache: int  # bytes of L2
    shared: int  # bytes of shared memory of a core
    shared_by_block: int  # bytes of it that a block may ask for
    threads: int  # largest number of threads per core
    features: str = "NONE"

    @property
    def sm(self) -> str:
        """Name of the architecture for ptxas."""
        return "sm_" + self.capability.replace(".", "") + ("a" if self.features == "ACCELERATED_FEATURES" else "")


GPUS = {
    "t4": Gpu("Tesla T4", "7.5", 40, 64, 1.59, 320e9, 16 << 30, 4 << 20, 64 << 10, 64 << 10, 1024),
    "a100": Gpu("NVIDIA A100-SXM4-80GB", "8.0", 108, 64, 1.41, 2039e9, 80 << 30, 40 << 20, 164 << 10, 163 << 10, 2048),
    "h100": Gpu(
        "NVIDIA H100 80GB HBM3", "9.0", 132, 128, 1.98, 3352e9, 80 << 30, 50 << 20, 228 << 10, 227 << 10, 2048,
        "ACCELERATED_FEATURES",
    ),
    "h200": Gpu(
        "NVIDIA H200", "9.0", 132, 128, 1.98, 4800e9, 141 << 30, 50 << 20, 228 << 10, 227 << 10, 2048,
        "ACCELERATED_FEATURES",
    ),
}  # fmt: skip


def describe(gpu: Gpu) -> str:
    """Return a device as XLA's `GpuTargetConfigProto`, in text form."""
    major, minor = gpu.capability.split(".")
    versions = "".join(f'{kind}_version: "13.0.0"\n' for kind in ("driver", "runtime", "compile_time_toolkit"))
    return f"""
gpu_device_info {{
threads_per_block_limit: 1024
threads_per_warp: 32
shared_memory_per_block: 49152
shared_memory_per_core: {gpu.shared}
shared_memory_per_block_optin: {gpu.shared_by_block}
threads_per_core_limit: {gpu.threads}
core_count: {gpu.cores}
fpus_per_core: {gpu.lanes}
block_dim_limit_x: 2147483647
block_dim_limit_y: 65535
block_dim_limit_z: 65535
thread_dim_limit_x: 1024
thread_dim_limit_y: 1024
thread_dim_limit_z: 64
registers_per_core_limit: 65536
registers_per_block_limit: 65536
memory_bandwidth: {gpu.bandwidth:.0f}
l2_cache_size: {gpu.cache}
clock_rate_ghz: {gpu.clock_ghz}
device_memory_size: {gpu.memory}
device_address_bits: 64
ecc_enabled: true
cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {gpu.features} }}
device_vendor: "NVIDIA Corporation"
platform_version: "Compute Capability {gpu.capability}"
model_str: "{gpu.name}"
name: "{gpu.name}"
{versions}dnn_version: "9.10.0"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{gpu.name}"
"""
