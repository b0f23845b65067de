import Foundation

/// What an option names and is not there, or cannot be read: status 66.
struct MissingInput: Error, CustomStringConvertible {
    let description: String

    /// - Throws: ``MissingInput`` if there is no directory at a path.
    static func checkDirectory(_ path: String) throws(MissingInput) {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw MissingInput(description: "\(path): there is no such directory")
        }
        guard isDirectory.boolValue else {
            throw MissingInput(description: "\(path): is not a directory")
        }
    }

    /// - Throws: ``MissingInput``, before anything has begun.
    static func check(_ file: String?, for option: String) throws(MissingInput) {
        guard let file else { return }
        guard access(file, R_OK) == 0 else {
            throw MissingInput(
                description: "\(option): \(file): \(String(cString: strerror(errno)))")
        }
        var isDirectory: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory)
        if isDirectory.boolValue {
            throw MissingInput(description: "\(option): \(file): Is a directory")
        }
    }
}
