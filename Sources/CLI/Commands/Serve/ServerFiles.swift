import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderServer
import Synchronization

/// The `--access-log` file. Adding a line does not wait for the write.
final class AccessLog: Sendable {
    /// The maximum size of unwritten lines in bytes. Further lines are dropped and counted.
    private static let bufferLimit = 4 << 20
    /// The maximum wait for a slow reader, in milliseconds. Afterwards, lines are dropped.
    private static let patience: Int32 = 1_000
    /// The time limit for writing the last lines, in seconds.
    private static let lastPatience = 5.0
    private static let pause = Duration.seconds(60)

    private struct State {
        var waiting: [UInt8] = []
        var isScheduled = false
        var lost = 0
        /// The error that caused the loss of lines. Nil if the buffer was full.
        var reason: Int32?
        var saidAt: ContinuousClock.Instant?
        var isInLine = false
    }

    private let file: FileDescriptor?
    private let state = Mutex(State())
    /// A separate queue, because a write can block its thread forever.
    private let queue = DispatchQueue(label: "larder.access-log")

    init(_ path: String) throws(CacheError) {
        // Opening or writing a pipe must not wait for its reader.
        let flags = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK
        file = try path == "-" ? nil : OutputFile.open(path, flags: flags, mode: 0o640)
    }

    func add(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.waiting.count < Self.bufferLimit else {
                state.lost += 1
                return false
            }
            state.waiting += line.utf8
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [self] in write() }
    }

    func flush() {
        let end = DispatchSemaphore(value: 0)
        queue.async { [self] in
            write()
            end.signal()
        }
        if end.wait(timeout: .now() + Self.lastPatience) == .timedOut {
            Console.complain("--access-log: the last lines were lost: the reader is blocked")
        }
        sayLosses(isLast: true)
    }

    private func write() {
        let (lines, isInLine) = state.withLock { state in
            defer { (state.waiting, state.isScheduled) = ([], false) }
            return (state.waiting, state.isInLine)
        }
        defer { sayLosses() }
        if lines.isEmpty { return }
        let end = isInLine ? [UInt8(ascii: "\n")] : []
        let bytes = end + lines
        var (sent, failure): (Int, Int32?) = (0, nil)
        StandardStreams.withoutBrokenPipes {
            (sent, failure) = bytes.withUnsafeBytes {
                StandardStreams.send($0, to: file?.raw ?? STDOUT_FILENO, patience: Self.patience)
            }
        }
        let lost = bytes[max(sent, end.count)...].count { $0 == UInt8(ascii: "\n") }
        state.withLock { state in
            if sent > 0 { state.isInLine = bytes[sent - 1] != UInt8(ascii: "\n") }
            guard let failure else { return }
            (state.lost, state.reason) = (state.lost + lost, failure)
        }
    }

    /// Reports lost lines at most once per ``pause``, and at the end.
    private func sayLosses(isLast: Bool = false) {
        let (lost, reason) = state.withLock { state in
            let isDue = state.saidAt.map { ContinuousClock.now - $0 >= Self.pause } ?? true
            guard state.lost > 0, isDue || isLast else { return (0, state.reason) }
            defer { (state.lost, state.saidAt) = (0, .now) }
            return (state.lost, state.reason)
        }
        guard lost > 0 else { return }
        let cause =
            switch reason {
            case nil, EAGAIN: "the reader is too slow"
            case let number?: String(cString: strerror(number))
            }
        Console.complain("--access-log: \(lost.of("line")) lost: \(cause)")
    }
}

final class MissingListFile: Sendable {
    /// Requested URLs may be private, so only the user may read the file.
    private static let mode: mode_t = 0o600

    private let path: String
    private let lastFailure = Mutex<CacheError?>(nil)
    var failure: CacheError? { lastFailure.withLock { $0 } }

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--missing-list")
        try OutputReplacement(path, mode: Self.mode).check()
        self.path = path
    }

    var output: MissingListOutput {
        MissingListOutput(load: load) { [self] text in
            do throws(CacheError) {
                try OutputFile.write(text, to: path, mode: Self.mode)
                lastFailure.withLock { $0 = nil }
            } catch {
                lastFailure.withLock { $0 = error }
                throw error
            }
        }
    }

    @Sendable private func load() throws -> [String] {
        let text: Data
        do {
            let folder = try UsersPath(path.parentDirectory).folder()
            guard try folder.status(of: path.lastName) != nil else { return [] }
            let file = try folder.file(path.lastName)
            // Earlier versions of Larder created the file with different permissions.
            let status = try file.status()
            if status.st_uid == geteuid(), status.st_mode & 0o077 != 0 {
                try file.setMode(Self.mode)
            }
            let handle = FileHandle(fileDescriptor: file.raw, closeOnDealloc: false)
            text = try handle.read(upToCount: MissingListOutput.maximumSize + 1) ?? Data()
            withExtendedLifetime(file) {}
        } catch {
            throw ManifestError(.unreadable, source: path, "cannot be read")
        }
        guard let urls = MissingListOutput.urls(of: text) else {
            throw ManifestError(
                .notAManifest, source: path,
                "is not a list written by larder; use another file for --missing-list")
        }
        return urls
    }
}
