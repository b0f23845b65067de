import Foundation

/// What this process has in memory, its program and libraries included.
package enum ResidentMemory {
    /// In bytes; 0 if the system does not tell.
    package static var now: Int64 {
        #if canImport(Darwin)
            var info = mach_task_basic_info()
            var count = mach_msg_type_number_t(
                MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
            let result = withUnsafeMutablePointer(to: &info) {
                $0.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return result == KERN_SUCCESS ? Int64(info.resident_size) : 0
        #else
            // proc_pid_statm(5): all pages, resident ones, …
            let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return 0 }
            defer { close(descriptor) }
            let text = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
            return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        #endif
    }
}
