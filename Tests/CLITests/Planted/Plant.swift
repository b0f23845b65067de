import Foundation
import LarderTestSupport

/// A kind of foreign file in a cache's tree.
enum Plant: CaseIterable {
    case file, empty, directory, linkToFile, linkToDirectory, danglingLink, loop, pipe, socket
    case hardLink

    /// Creates the file at a path, and replaces an existing file.
    ///
    /// - Parameter witness: A directory outside that contains the file `file`, as a target of
    ///   links.
    func put(at path: [UInt8], witness: String) throws {
        path.withCPath { path in _ = unlink(path) }
        if let print = FilePrint(path), print.mode & S_IFMT == S_IFDIR {
            let aside = path + Array(".aside".utf8)
            guard path.withCPath({ old in aside.withCPath { rename(old, $0) } }) == 0 else {
                throw BrokenPromise("rename \(path.shown): \(errno)")
            }
            try FileManager.default.removeItem(atPath: String(decoding: aside, as: UTF8.self))
        }
        let result = path.withCPath { path in
            switch self {
            case .file: write("planted", to: path)
            case .empty: write("", to: path)
            case .directory: directory(path)
            case .linkToFile: symlink("\(witness)/file", path)
            case .linkToDirectory: symlink("\(witness)/directory", path)
            case .danglingLink: symlink("\(witness)/nothing", path)
            case .loop: symlink(path, path)
            case .pipe: mkfifo(path, 0o644)
            case .socket: mknod(path, S_IFSOCK | 0o644, 0)
            case .hardLink: link("\(witness)/file", path)
            }
        }
        guard result == 0 else { throw BrokenPromise("\(self) at \(path.shown): \(errno)") }
    }

    private func write(_ text: String, to path: UnsafePointer<CChar>) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o640)
        guard file >= 0 else { return -1 }
        defer { close(file) }
        return Foundation.write(file, text, text.utf8.count) == text.utf8.count ? 0 : -1
    }

    private func directory(_ path: UnsafePointer<CChar>) -> Int32 {
        guard mkdir(path, 0o750) == 0 else { return -1 }
        let directory = open(path, O_RDONLY | O_DIRECTORY)
        defer { close(directory) }
        return symlinkat("..", directory, "up")
    }
}
