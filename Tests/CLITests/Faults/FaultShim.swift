import Foundation
import LarderTestSupport

/// The library that makes system calls fail (`Tests/FaultInjection`), compiled for one test by the
/// compiler that comes with Swift.
struct FaultShim {
    let path: String

    init(in directory: TemporaryDirectory) throws {
        path = directory.path("faults.so")
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../FaultInjection/faults.c").standardizedFileURL.path
        let compiled = try RunningProcess(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", path, source]
        ).wait()
        guard compiled.status == 0 else { throw BrokenPromise("\(compiled)") }
    }

    /// Preloading is another matter on other systems.
    static let isPossible: Bool = {
        #if os(Linux)
            return true
        #else
            return false
        #endif
    }()
}
