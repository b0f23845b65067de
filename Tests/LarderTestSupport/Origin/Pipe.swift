import Foundation

/// A pipe with close-on-exec descriptors.
struct Pipe {
    let readEnd: Int32
    let writeEnd: Int32

    init() throws(OriginError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw OriginError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }
}
