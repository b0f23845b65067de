import Foundation
import Synchronization

/// A file, or standard output, to which lines are added without anybody waiting for it.
final class AccessLog: Sendable {
    /// What waits to be written, in bytes; lines beyond that are lost, and counted.
    private static let mostWaiting = 4 << 20

    private struct State {
        var waiting: [UInt8] = []
        var lost = 0
        var isScheduled = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "larder.access-log")

    /// - Parameter path: `-` is standard output.
    /// - Throws: ``OutputFailure`` if it cannot be opened.
    init(_ path: String) throws(OutputFailure) {
        guard path != "-" else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0o640)
        guard descriptor >= 0 else { throw OutputFailure("open", path, errno) }
    }

    deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }

    /// Adds a line, with its end.
    func add(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.waiting.count < Self.mostWaiting else {
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

    /// Writes what waits, and returns when that is done.
    func flush() { queue.sync { write() } }

    private func write() {
        let (bytes, lost) = state.withLock { state in
            defer { state = State() }
            return (state.waiting, state.lost)
        }
        if !bytes.isEmpty {
            StandardStreams.withoutBrokenPipes {
                _ = bytes.withUnsafeBytes {
                    StandardStreams.send($0, to: descriptor, patience: 1_000)
                }
            }
        }
        if lost > 0 { Console.complain("--access-log: \(lost) lines were lost") }
    }
}
