import Foundation
import Synchronization

/// The processes of a server, in one process group, and a directory that goes with them.
final class ServerProcess: Sendable {
    /// Where it listens.
    let port: UInt16
    let directory: TemporaryDirectory
    private let guardian: Int32
    private let group: Int32
    /// Its end is that of the server; nil once it was closed.
    private let input: Mutex<Int32?>

    /// Starts `script`, in the folder of the caller's file, with a new directory and `arguments`,
    /// and waits until it is ready.
    init(_ script: String, _ arguments: [String], caller: String = #filePath) throws {
        func file(_ name: String, beside other: String) -> String {
            URL(fileURLWithPath: other).deletingLastPathComponent().path + "/" + name
        }
        let directory = try TemporaryDirectory()
        let process = try SpawnedProcess(
            "/bin/bash",
            [
                file("guard.sh", beside: #filePath), directory.path,
                "/bin/bash", file(script, beside: caller), directory.path,
            ] + arguments, hasInput: true, environment: ProcessInfo.processInfo.environment,
            directory: directory.path)
        defer {
            close(process.output)
            close(process.error)
        }
        // Ends early if the script does.
        let output = FileHandle(fileDescriptor: process.output, closeOnDealloc: false)
        let words = Self.words(in: output)
        guard words.count == 3, words[1] == "ready", let group = Int32(words[0]),
            let port = UInt16(words[2])
        else {
            let log = (try? String(contentsOfFile: directory.path("log"), encoding: .utf8)) ?? ""
            Self.end(process.pid, input: process.input)
            throw ServerFailure(name: script, message: "did not start: \(log.suffix(2000))")
        }
        (self.directory, self.group, self.port) = (directory, group, port)
        guardian = process.pid
        input = Mutex(process.input)
    }

    deinit { stop() }

    func suspend() { signal(SIGSTOP) }
    func resume() { signal(SIGCONT) }

    func stop() {
        input.withLock { input in
            guard let end = input else { return }
            input = nil
            Self.end(guardian, input: end)
        }
    }

    private func signal(_ number: Int32) {
        input.withLock { if $0 != nil { _ = kill(-group, number) } }
    }

    private static func words(in output: FileHandle) -> [Substring] {
        var data = Data()
        while let more = try? output.read(upToCount: 4096), !more.isEmpty { data += more }
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    }

    private static func end(_ guardian: Int32, input: Int32?) {
        if let input { close(input) }
        var status: Int32 = 0
        while waitpid(guardian, &status, 0) < 0, errno == EINTR {}
    }

    /// What `Scripts/setup --servers` has installed.
    static let servers =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/.build/servers"

    /// Where a program is: what `Scripts/setup --servers` has installed, or in `PATH`.
    static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return ([servers + "/bin"] + path.split(separator: ":").map(String.init))
            .map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile)
    }
}
