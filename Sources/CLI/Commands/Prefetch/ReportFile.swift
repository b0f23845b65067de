import Foundation
import LarderCache
import LarderCore
import LarderPrefetch
import Synchronization

/// The `--report` file, with one JSON line for each icon. The file is opened before the run starts,
/// but keeps the previous report until all manifests are read. A failed write does not stop the
/// run, but makes it fail at the end.
final class ReportFile {
    private let path: String
    private let mode: mode_t
    private let file: FileDescriptor?
    private var buffer = Data()
    private var isBegun = false
    private(set) var failure: OutputError?

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        self.path = path
        mode = 0o644 & ~Self.umask()
        guard path != "-" else {
            file = nil
            return
        }
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--report")
        file = try OutputFile.open(path, flags: O_WRONLY, mode: 0o644)
    }

    func take(_ event: PrefetchEvent) {
        switch event {
        case .recovered, .planning: break
        case .planned: begin()
        case .entry(let result): add(result)
        case .progress: flush()
        case .finished:
            begin()
            flush()
        }
    }

    private func begin() {
        guard !isBegun, failure == nil, let file else { return }
        isBegun = true
        guard let status = try? file.status(), status.isRegularFile else { return }
        // If the file exists, removes permissions that a new file would not have.
        if status.st_uid == geteuid() { fchmod(file.raw, status.st_mode & mode) }
        if ftruncate(file.raw, 0) != 0 {
            failure = OutputError("truncate", path, errno)
        }
    }

    /// Returns the umask. Must be called before other threads create files, because umask(2) can
    /// read the mask only by changing it.
    private static func umask() -> mode_t {
        let mask = Foundation.umask(0o077)
        _ = Foundation.umask(mask)
        return mask
    }

    private func add(_ result: EntryResult) {
        begin()
        guard failure == nil else { return }
        buffer.append(contentsOf: result.json.text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= 64 * 1024 { flush() }
    }

    private func flush() {
        guard !buffer.isEmpty, failure == nil else { return }
        let number = buffer.withUnsafeBytes {
            StandardStreams.send($0, to: file?.raw ?? STDOUT_FILENO, patience: -1).failure
        }
        failure = number.map {
            file == nil ? .ofStandardOutput($0) : OutputError("write", path, $0)
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// The `--write-lock` file, a JSON array with one icon per line. If no icon failed, it replaces the
/// previous file.
final class LockedManifest: Sendable {
    private let file: OutputReplacement?
    private let isEmpty = Mutex(true)

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        guard path != "-" else {
            file = nil
            return
        }
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--write-lock")
        let file = OutputReplacement(path)
        try file.check()
        self.file = file
    }

    func add(_ entry: LockedEntry) {
        let isFirst = isEmpty.withLock { isEmpty in
            defer { isEmpty = false }
            return isEmpty
        }
        write((isFirst ? "[\n" : ",\n") + entry.json)
    }

    func commit() throws {
        write(isEmpty.withLock { $0 } ? "[]\n" : "\n]\n")
        try file?.commit()
    }

    private func write(_ text: String) {
        if let file { file.add(text) } else { print(text, terminator: "") }
    }
}
