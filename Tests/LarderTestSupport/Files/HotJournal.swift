/// A rollback journal of an interrupted transaction. SQLite plays it back if it finds it next to a
/// database.
public enum HotJournal {
    /// Returns a journal without pages that names `victim` as its super-journal
    /// (sqlite.org/fileformat2.html, "The Rollback Journal"). SQLite deletes the super-journal
    /// after the playback.
    ///
    /// - Parameter pages: The number of pages of 4096 bytes in the database.
    public static func bytes(naming victim: String, pages: UInt32) -> [UInt8] {
        func bytes(_ number: UInt32) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian, Array.init)
        }
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        var journal = magic + bytes(0) + bytes(0) + bytes(pages) + bytes(512) + bytes(4096)
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        let name = Array(victim.utf8)
        let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
        // The number of the lock-byte page, which no journal contains, precedes the name.
        return journal + bytes((1 << 30) / 4096 + 1) + name + bytes(UInt32(name.count)) + bytes(sum)
            + magic
    }
}
