extension String {
    /// The directory that a path's last name lies in; "." if the path has no other, as
    /// dirname(3) has it. `NSString.deletingLastPathComponent` of Swift 6.3 traps on a name of one
    /// character.
    package var parentDirectory: String {
        var path = self[...]
        func dropSlashes() { while path.utf8.count > 1, path.last == "/" { path.removeLast() } }
        dropSlashes()
        guard let slash = path.lastIndex(of: "/") else { return "." }
        path = path[...slash]
        dropSlashes()
        return String(path)
    }

    /// What follows the last slash of a path: a file's name, or "" if the path ends with a slash.
    package var lastName: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self[index(after: $0)...]) } ?? self
    }
}
