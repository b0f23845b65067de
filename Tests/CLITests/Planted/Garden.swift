import Foundation
import LarderTestSupport

/// A cache with foreign files planted at random, and a directory outside that links lead to.
struct Garden {
    let larder: CLIFixture
    /// The directory outside the cache.
    let witness: String
    /// The foreign files at names that the cache does not use, with all files below them.
    private(set) var foreign: [[UInt8]: FilePrint] = [:]
    /// The foreign files that replace the cache's own files.
    private(set) var inPlace: [(path: [UInt8], plant: Plant)] = []
    private let outside: [[UInt8]: FilePrint]

    init(_ larder: CLIFixture, objects: [String], using random: inout Pseudorandom) throws {
        self.larder = larder
        witness = larder.directory.path("witness")
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: "\(witness)/directory/deep", withIntermediateDirectories: true)
        try Data("witness".utf8).write(to: URL(fileURLWithPath: "\(witness)/file"))
        try Data("deep".utf8).write(to: URL(fileURLWithPath: "\(witness)/directory/deep/file"))
        // Objects that also have hard links outside, with other permissions.
        for path in objects.shuffled(using: &random).prefix(3) {
            link(path, "\(witness)/\((path as NSString).lastPathComponent)")
            chmod(path, 0o640)
        }
        outside = FilePrint.tree(Array(witness.utf8))

        for _ in 0..<(8 + random.next(below: 16)) { try plantForeign(objects, using: &random) }
        for path in objects where random.next(below: 12) == 0 {
            try plant(.random(using: &random), at: Array(path.utf8))
        }
        if random.next(below: 2) == 0 {
            let name = Self.ownNames.randomElement(using: &random) ?? ""
            try plant(.random(using: &random), at: Array("\(larder.cache)/\(name)".utf8))
        }
        // Planted directories may get further files, so their state is read last.
        for path in foreign.keys { foreign.merge(FilePrint.tree(path)) { $1 } }
    }

    /// The cache's own names, which foreign files may replace.
    private static let ownNames = [
        "objects", "objects/sha256", "objects/sha256/00", "objects/sha256/7f", "tmp", "tmp/partial",
        "quarantine", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm",
        "index.sqlite-journal",
        "index.snapshot.sqlite", "index.snapshot.sqlite-wal", "index.snapshot.sqlite-journal",
        "index.damaged", "verify-position.json", "CACHEDIR.TAG",
    ]

    private mutating func plant(_ plant: Plant, at path: [UInt8]) throws {
        try plant.put(at: path, witness: witness)
        inPlace.append((path, plant))
    }

    private mutating func plantForeign(
        _ objects: [String], using random: inout Pseudorandom
    ) throws {
        let object = objects.randomElement(using: &random) ?? ""
        let fanOut = (object as NSString).deletingLastPathComponent
        let digest = (0..<64).map { _ in String(random.next(below: 16), radix: 16) }.joined()
        let plant = Plant.random(using: &random)
        var directory: String
        var name: [UInt8]
        switch random.next(below: 4) {
        case 0:
            // A digest in its proper place, where a regular file would be an object.
            directory = "\(larder.cache)/objects/sha256/\(digest.prefix(2))"
            name = Array(digest.utf8)
            // A directory would obstruct an object.
            if [.file, .empty, .hardLink, .directory].contains(plant) {
                name = Array(digest.uppercased().utf8) + [0x5A]
            }
        case 1:
            // An object's digest in the wrong place, or a name that is not a digest.
            directory = "\(larder.cache)/objects/sha256/\(digest.prefix(2))"
            name = Array((object as NSString).lastPathComponent.utf8)
            if name.starts(with: digest.prefix(2).utf8) { return }
            if [.file, .empty, .hardLink].contains(plant) { name = Array(digest.utf8.dropFirst()) }
        default:
            let names: [[UInt8]] = [
                Array("..planted".utf8), Array("...".utf8), Array("-rf".utf8),
                Array("new\nline".utf8),
                [0xFF, 0xFE, 0x80], [0xC3, 0x28], [UInt8](repeating: 0x78, count: 255),
                Array(digest.uppercased().utf8), Array("\(digest).part".utf8),
                Array("\u{1B}[31m".utf8),
                Array("index.sqlite".utf8) + [0x80], Array("run-1-1".utf8), Array("a b".utf8),
            ]
            directory =
                [
                    larder.cache, "\(larder.cache)/objects", "\(larder.cache)/objects/sha256",
                    fanOut,
                    "\(larder.cache)/quarantine",
                ].randomElement(using: &random) ?? ""
            name = names.randomElement(using: &random) ?? []
        }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = Array("\(directory)/".utf8) + name
        guard FilePrint(path) == nil else { return }
        try plant.put(at: path, witness: witness)
        foreign[path] = FilePrint(path)
        // Anything in tmp/ may be deleted, but must do no harm.
        let temporaryName =
            ["run-1-1", "run-x", digest, "other"].randomElement(using: &random) ?? ""
        let temporary = Array("\(larder.cache)/tmp/\(temporaryName)".utf8)
        if FilePrint(temporary) == nil {
            try Plant.random(using: &random).put(at: temporary, witness: witness)
        }
    }

    var shown: String { inPlace.map { "\($0.plant) at \($0.path.shown)" }.joined(separator: ", ") }

    // MARK: Checks

    /// Returns the changes to foreign files and to the directory outside.
    func changes() -> [String] {
        var changes: [String] = []
        let outsideNow = FilePrint.tree(Array(witness.utf8))
        for (path, print) in outside where outsideNow[path] != print {
            changes.append("outside: \(path.shown) was \(print), is \(outsideNow[path] as Any)")
        }
        for path in outsideNow.keys where outside[path] == nil {
            changes.append("outside: \(path.shown) is new")
        }
        let structures = inPlace.map(\.path)
        for (path, print) in foreign {
            // Files below a replaced directory were removed with it.
            if structures.contains(where: { path.starts(with: $0) }) { continue }
            let now = FilePrint(path)
            if now != print { changes.append("\(path.shown) was \(print), is \(now as Any)") }
        }
        return changes
    }

    /// Removes the files that replaced the cache's own, as a user does after an error message.
    func weed() throws {
        for (path, plant) in inPlace {
            let name = String(decoding: path, as: UTF8.self)
            var status = stat()
            guard lstat(name, &status) == 0 else { continue }
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            // The cache may already have created its own directory there.
            guard !isDirectory || plant == .directory else { continue }
            if isDirectory { unlink(name + "/up") }
            if !isDirectory || rmdir(name) != 0 { unlink(name) }
        }
    }

    /// Removes files whose names Foundation cannot remove.
    func clear() {
        for path in foreign.keys.sorted(by: { $0.count > $1.count }) {
            path.withCPath { path in if unlink(path) != 0 { rmdir(path) } }
        }
    }
}

extension Plant {
    static func random(using random: inout Pseudorandom) -> Plant {
        allCases[random.next(below: allCases.count)]
    }
}
