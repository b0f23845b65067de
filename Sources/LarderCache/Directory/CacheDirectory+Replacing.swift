import Foundation

extension CacheDirectory {
    /// Replaces a small file in one step: who reads it sees the old one or the new one, whole. It
    /// is not made durable: for what is expendable.
    func replace(
        _ name: String, beneath parent: FileDescriptor, with bytes: [UInt8]
    ) throws(CacheError) {
        let run = try RunDirectory(in: self)
        let staged = run.uniqueName()
        let file = try FileDescriptor.open(
            staged, beneath: run.directory, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        let result: Result<Void, CacheError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(CacheError) in try file.write(bytes, subject: file.path) }
        }
        try result.get()
        guard renameat(run.directory.raw, staged, parent.raw, name) == 0 else {
            throw CacheError("rename", subject: parent.path(of: name), errno: errno)
        }
    }
}
