import Foundation
import LarderTestSupport

/// The library that makes system calls fail or kill (`Tests/FaultInjection`), compiled for one test
/// by the compiler that comes with Swift.
struct FaultShim {
    let path: String

    /// - Parameter name: of the source file.
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

    /// Has every call that changes something beneath `root` logged, a line each.
    func counting(beneath root: String, log: String) -> [String: String] {
        settings(beneath: root, number: 0).merging(["LARDER_FAULT_LOG": log]) { $1 }
    }

    /// Kills the program instead of such a call; the first is 1.
    func killing(at number: Int, beneath root: String) -> [String: String] {
        settings(beneath: root, number: number)
    }

    /// Kills the program before it makes something beneath `root` durable; the first time is 1.
    func killing(atSync number: Int, beneath root: String) -> [String: String] {
        settings(beneath: root, number: number).merging(["LARDER_FAULT_CALL": "sync"]) { $1 }
    }

    /// Has whatever makes something beneath `root` durable take so many milliseconds more.
    func slowingSyncs(by milliseconds: Int, beneath root: String) -> [String: String] {
        slowing("sync", by: milliseconds, beneath: root)
    }

    /// Has the removal of every file beneath `root` take so many milliseconds more.
    func slowingRemovals(by milliseconds: Int, beneath root: String) -> [String: String] {
        slowing("unlink", by: milliseconds, beneath: root)
    }

    private func slowing(
        _ call: String, by milliseconds: Int, beneath root: String
    ) -> [String: String] {
        settings(beneath: root, number: 1).merging([
            "LARDER_FAULT_CALL": call, "LARDER_FAULT_TIMES": "0",
            "LARDER_FAULT_DELAY": "\(milliseconds)",
        ]) { $1 }
    }

    private func settings(beneath root: String, number: Int) -> [String: String] {
        [
            "LD_PRELOAD": preloaded, "LARDER_FAULT_ROOT": root, "LARDER_FAULT_CALL": "change",
            "LARDER_FAULT_NTH": "\(number)", "LARDER_FAULT_ERRNO": "0",
        ]
    }

    /// The shim, before what the tests themselves were started with (`Scripts/sanitize`).
    var preloaded: String {
        ([path] + [ProcessInfo.processInfo.environment["LD_PRELOAD"]].compactMap(\.self))
            .joined(separator: ":")
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
