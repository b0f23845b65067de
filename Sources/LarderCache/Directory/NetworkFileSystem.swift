import CLarderSystem
import Foundation

/// File systems on which neither `flock` nor SQLite's shared memory can be relied on.
enum NetworkFileSystem {
    /// The name of the network file system that `file` lies on; nil for a local one.
    static func name(of file: FileDescriptor) -> String? {
        var status = statfs()
        guard fstatfs(file.raw, &status) == 0 else { return nil }
        #if canImport(Darwin)
            return status.f_flags & UInt32(MNT_LOCAL) == 0 ? "remote volume" : nil
        #else
            return names[UInt32(truncatingIfNeeded: status.f_type)]
        #endif
    }

    /// The magic numbers of statfs(2) and linux/magic.h.
    private static let names: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB2", 0xFF53_4D42: "CIFS",
        0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x0102_1997: "9P", 0x564C: "NCP", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
    ]
}
