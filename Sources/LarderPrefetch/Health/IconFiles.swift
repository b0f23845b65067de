import Foundation
import LarderCache
import LarderCore
import LarderImages

/// A directory with the untrusted files of relative icons. Names with `..` are rejected, and links
/// are not followed.
struct IconFiles {
    enum Content {
        case image(name: String, Digest, ImageInfo)
        case problem(HealthFinding.Kind, String)
    }

    private let root: FileDescriptor

    init(in directory: String) throws { root = try Cache.usersDirectory(directory) }

    func content(of names: [String]) -> Content {
        for name in names {
            do {
                let bytes = try bytes(of: name)
                let image = try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
                return .image(name: name, Digest(of: bytes), image)
            } catch {
                let failure = error as? CacheError
                if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(failure?.errno) { continue }
                return .problem(
                    failure == nil ? .notAnImage : .failed,
                    "the file \(name.quoted()): \(failure?.message ?? "\(error)")")
            }
        }
        return .problem(.missing, "no file " + names.map { $0.quoted() }.joined(separator: " or "))
    }

    private func bytes(of name: String) throws -> [UInt8] {
        let parts = name.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
            .filter { !$0.isSame(as: ".") }
        guard let last = parts.last, !name.utf8.contains(0),
            !parts.contains(where: { $0.isSame(as: "..") })
        else { throw CacheError("open", subject: name, errno: ENOENT) }
        var directory = root
        for part in parts.dropLast() { directory = try directory.directory(part) }
        let file = try directory.file(last)
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= 16 << 20 else {
            throw CacheError(
                .unusable, subject: name, message: "not a regular file of at most 16 MiB")
        }
        return try file.read(at: 0, atMost: Int(status.st_size))
    }
}
