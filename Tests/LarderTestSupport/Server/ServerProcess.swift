import Foundation
import Synchronization

/// A server's processes, in one process group, and their directory.
///
/// `guard.sh` kills the processes and removes the directory when its standard input closes.
final class ServerProcess: Sendable {
    let port: UInt16
    let directory: TemporaryDirectory
    private let guardian: Int32
    private let group: Int32
    /// The standard input of `guard.sh`; nil after ``stop()``.
    private let input: Mutex<Int32?>

    /// Starts `script` from the folder of the caller's file and waits until the server is ready.
    ///
    /// The script's arguments are a new directory and `arguments`.
    init(_ script: String, _ arguments: [String], caller: String = #filePath) throws {
        func file(_ name: String, nextTo other: String) -> String {
            URL(fileURLWithPath: other).deletingLastPathComponent().path + "/" + name
        }
        let directory = try TemporaryDirectory()
        let process = try SpawnedProcess(
            "/bin/bash",
            [
                file("guard.sh", nextTo: #filePath), directory.path,
                "/bin/bash", file(script, nextTo: caller), directory.path,
            ] + arguments, hasInput: true, environment: ProcessInfo.processInfo.environment,
            directory: directory.path)
        defer {
            close(process.output)
            close(process.error)
        }
        // The script closes its output when the server is ready or has failed to start.
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

    /// Starts `script` with `portCount` free ports before its other arguments.
    ///
    /// Another process can take a port before the server binds it, so this tries three times.
    static func start(
        _ script: String, portCount: Int, _ arguments: [String] = [], caller: String = #filePath
    ) throws -> ServerProcess {
        var attempts = 0
        while true {
            attempts += 1
            do {
                let sockets = try (0..<portCount).map { _ in try Socket.bound(to: .ipv4, port: 0) }
                let ports = try sockets.map { try Socket.port(of: $0) }
                for socket in sockets { close(socket) }
                return try ServerProcess(script, ports.map { "\($0)" } + arguments, caller: caller)
            } catch  where attempts < 3 {}
        }
    }

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

    /// The directory in which `Scripts/setup --servers` installs programs.
    static let servers =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/.build/servers"

    /// Returns the path of a program in ``servers`` or in `PATH`; nil if it is not installed.
    static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return ([servers + "/bin"] + path.split(separator: ":").map(String.init))
            .map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile)
    }
}
