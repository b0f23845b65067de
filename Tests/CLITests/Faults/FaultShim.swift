import Foundation
import LarderTestSupport

/// The library that makes system calls fail or kill the process (`Tests/FaultInjection`). Each test
/// compiles it with the C compiler of the Swift toolchain.
struct FaultShim {
    let path: String

    /// - Parameter name: The name of the source file.
    init(in directory: TemporaryDirectory, named name: String = "faults") throws {
        path = directory.path("\(name).so")
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../FaultInjection/\(name).c").standardizedFileURL.path
        let compiled = try RunningProcess(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", path, source]
        ).wait()
        guard compiled.status == 0 else { throw BrokenPromise("\(compiled)") }
    }

    // MARK: - Settings

    /// Logs every call that changes something below `root`, one per line.
    func counting(below root: String, log: String) -> [String: String] {
        settings(below: root, number: 0).merging(["LARDER_FAULT_LOG": log]) { $1 }
    }

    /// Kills the process instead of a call that changes something below `root`. The first is 1.
    func killing(at number: Int, below root: String) -> [String: String] {
        settings(below: root, number: number)
    }

    /// Kills the process instead of a sync below `root`. The first is 1.
    func killing(atSync number: Int, below root: String) -> [String: String] {
        settings(below: root, number: number).merging(["LARDER_FAULT_CALL": "sync"]) { $1 }
    }

    /// Delays every sync below `root`.
    func slowingSyncs(by milliseconds: Int, below root: String) -> [String: String] {
        slowing("sync", by: milliseconds, below: root)
    }

    /// Delays the removal of every file below `root`.
    func slowingRemovals(by milliseconds: Int, below root: String) -> [String: String] {
        slowing("unlink", by: milliseconds, below: root)
    }

    private func slowing(
        _ call: String, by milliseconds: Int, below root: String
    ) -> [String: String] {
        settings(below: root, number: 1).merging([
            "LARDER_FAULT_CALL": call, "LARDER_FAULT_TIMES": "0",
            "LARDER_FAULT_DELAY": "\(milliseconds)",
        ]) { $1 }
    }

    private func settings(below root: String, number: Int) -> [String: String] {
        [
            "LD_PRELOAD": preloaded, "LARDER_FAULT_ROOT": root, "LARDER_FAULT_CALL": "change",
            "LARDER_FAULT_NTH": "\(number)", "LARDER_FAULT_ERRNO": "0",
        ]
    }

    /// The value of `LD_PRELOAD`: the shim, then the libraries that are preloaded into the tests
    /// themselves (`Scripts/sanitize`).
    var preloaded: String {
        ([path] + [ProcessInfo.processInfo.environment["LD_PRELOAD"]].compactMap(\.self))
            .joined(separator: ":")
    }

    /// Whether this system can preload the shim.
    static let isPossible: Bool = {
        #if os(Linux)
            return true
        #else
            return false
        #endif
    }()
}
