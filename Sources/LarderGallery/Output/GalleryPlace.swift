import LarderCache

/// Where a gallery is written to: a directory, or the memory of a server.
public protocol GalleryPlace {
    /// What the addresses of all objects begin with, relative to the page.
    var objects: String { get }

    /// The rest of an object's address; nil if its bytes are not those of its digest.
    func address(of object: StoredObject) throws -> String?

    /// Takes a file with a path relative to the page's.
    func write(_ file: GalleryFile) throws
}
