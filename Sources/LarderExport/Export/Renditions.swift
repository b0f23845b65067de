import Foundation
import LarderCache
import LarderCore
import LarderImages

/// The files of each exported icon: the icon itself, or resized images. A list of resized images
/// lets the next export make only new ones, even if this export is killed. A wrong line in the list
/// can only leave an icon in its original size, because files must match the listed digests.
final class Renditions {
    /// A hidden name, which image libraries and Xcode ignore.
    private static let list = ".larder-resized"
    /// The maximum size of the list in bytes. A longer list is not read.
    private static let longestList: Int64 = 64 << 20

    private let resize: Resize?
    private let writer: ExportWriter
    private let program: ResizeProgram?
    private let header: String
    private var images: [ResizedImage.Source: ResizedImage] = [:]
    private var used: Set<ResizedImage.Source> = []
    private var appended: FileDescriptor?
    private var bytes: [ResizedImage.Source: [UInt8]] = [:]
    private var failures: [Digest: any Error] = [:]

    /// Reads the list in the export's directory, unless it was made with a different recipe.
    init(_ resize: Resize?, with program: ResizeProgram?, _ writer: ExportWriter) throws {
        (self.resize, self.writer, self.program) = (resize, writer, program)
        header = "larder resized images 1, \(program?.recipe ?? "")"
        guard program != nil else { return }
        let directory = writer.folder
        if let status = try directory.status(of: Self.list), status.isRegularFile,
            status.st_size <= min(Self.longestList, status.plausibleBytes),
            let file = try? directory.file(Self.list)
        {
            let lines = try file.read(atMost: Int(status.st_size))
                .split(separator: UInt8(ascii: "\n"))
            if lines.first?.elementsEqual(header.utf8) == true {
                lines.dropFirst().forEach { read($0) }
            }
        }
        try writeList()
        // A file with several hard links could belong to another program, so it is not changed.
        if let file = try? directory.open(Self.list, flags: O_WRONLY | O_APPEND | O_NONBLOCK),
            let status = try? file.status(), status.isRegularFile, status.st_nlink == 1
        {
            appended = file
        }
    }

    private func read(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        guard words.count == 6, numbers.count == 4, let source = Digest(hex: words[0]),
            let digest = Digest(hex: words[1])
        else { return }
        images[.init(digest: source, side: numbers[0])] = ResizedImage(
            digest: digest, size: Int64(numbers[1]), width: numbers[2], height: numbers[3])
    }

    private static func line(_ source: ResizedImage.Source, _ image: ResizedImage) -> String {
        "\(source.digest.hex) \(image.digest.hex) \(source.side) \(image.size) \(image.width) "
            + "\(image.height)\n"
    }

    private func writeList() throws {
        let sorted = images.sorted { ($0.key.digest, $0.key.side) < ($1.key.digest, $1.key.side) }
        try writer.write(as: Self.list) { file in
            try file.write(header + "\n")
            for (source, image) in sorted { try file.write(Self.line(source, image)) }
        }
    }

    /// The number of icons whose images ``make(_:for:)`` keeps in memory.
    var batch: Int {
        guard let resize else { return .max }
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return max(cores, 8 * cores / resize.scales.count)
    }

    /// Returns the scales and longest sides of an icon's images, or none for a vector.
    private func sizes(of object: StoredObject) -> [(scale: Int, side: Int)] {
        guard let resize, images[.init(digest: object.digest, side: 0)] == nil,
            let format = ImageFormat.of(mediaType: object.mediaType), !format.isVector,
            format.isResizable
        else { return [] }
        return resize.scales.map { ($0, resize.points * $0) }
    }

    private func isSmall(_ object: StoredObject, _ side: Int) -> Bool {
        guard let width = object.width, let height = object.height else { return false }
        return max(width, height) <= side
    }

    private func rendition(of object: StoredObject, _ scale: Int?, _ side: Int) -> Rendition? {
        if isSmall(object, side) { return Rendition(object, scale: scale) }
        let source = ResizedImage.Source(digest: object.digest, side: side)
        return images[source].map { image in
            Rendition(
                scale: scale, digest: image.digest, size: image.size,
                mediaType: ResizeProgram.format(of: object).rawValue, width: image.width,
                height: image.height, bytes: bytes[source])
        }
    }

    /// Returns an icon's files, except resized images that do not exist yet.
    func known(_ object: StoredObject) -> [Rendition] {
        let sizes = sizes(of: object)
        if sizes.isEmpty { return [Rendition(object)] }
        return sizes.compactMap { rendition(of: object, $0.scale, $0.side) }
    }

    func all(_ object: StoredObject) throws -> [Rendition] {
        // Existing files of a failed icon are kept, so they stay in the list.
        for side in [0] + sizes(of: object).map({ $0.side }) {
            used.insert(ResizedImage.Source(digest: object.digest, side: side))
        }
        if let failure = failures[object.digest] { throw failure }
        return known(object)
    }

    func make(_ icons: some Sequence<ExportedIcon>, for files: any ExportedFiles) throws {
        guard let program else { return }
        bytes.removeAll(keepingCapacity: true)
        var jobs: [Digest: ResizeProgram.Job] = [:]
        for icon in icons {
            guard let stem = icon.stem, let object = icon.object.map(writer.cache.sized),
                failures[object.digest] == nil
            else { continue }
            for (scale, side) in sizes(of: object) where !isSmall(object, side) {
                if let known = rendition(of: object, scale, side),
                    let (directory, name) = files.location(of: known, stem),
                    (try? writer.isInPlace(known, name, directory)) == true
                {
                    continue
                }
                jobs[object.digest, default: (object, [])].sides.insert(side)
            }
        }
        let results = program.resize(
            Array(jobs.values), opening: writer.verified, unless: writer.isCancelled)
        for (digest, result) in results {
            switch result {
            case .success(let made):
                for (source, image, content) in made {
                    images[source] = image
                    bytes[source] = content
                    try appended?.write(Array(Self.line(source, image).utf8))
                }
            case .failure(let error): failures[digest] = error
            }
        }
        try writer.checkCancellation()
    }

    func finish(prune: Bool) throws {
        if program != nil {
            if prune { images = images.filter { used.contains($0.key) } }
            try writeList()
        } else if prune {
            try writer.removeIfPermitted(Self.list)
        }
    }
}

struct Rendition {
    /// The scale, if the icon has a file for each scale.
    let scale: Int?
    let digest: Digest
    let size: Int64
    let mediaType: String?
    let width: Int?
    let height: Int?
    var original: StoredObject?
    var bytes: [UInt8]?

    /// Returns the name of the file in a layout with readable names, as UIKit expects it.
    func file(_ stem: String) -> String {
        let mark = scale.map { $0 > 1 ? "@\($0)x" : "" } ?? ""
        return "\(stem)\(mark).\(ImageFile.suffix(of: mediaType))"
    }
}

extension Rendition {
    init(_ object: StoredObject, scale: Int? = nil) {
        self.init(
            scale: scale, digest: object.digest, size: object.size, mediaType: object.mediaType,
            width: object.width, height: object.height, original: object)
    }
}
