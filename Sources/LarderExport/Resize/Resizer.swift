import Foundation
import LarderCache
import LarderCore
import LarderImages

/// The size at which icons are shown: a length in points, and the scales of the devices.
package struct Resize: Sendable {
    package static let allowedPoints = 1...1024
    package static let allowedScales = 1...4

    /// The length of the longest side at a scale of 1, in pixels.
    package let points: Int
    /// In ascending order.
    package let scales: [Int]

    package init(points: Int, scales: Set<Int>) {
        self.points = points
        self.scales = scales.sorted()
    }
}

struct Resizer {
    private static let mostPixels = 8192 * 8192
    /// The maximum size of an icon in bytes. Each thread reads a whole icon into memory.
    private static let longestIcon: Int64 = 64 << 20

    /// An icon, and the longest sides in pixels of the images that it lacks.
    typealias Job = (object: StoredObject, sides: Set<Int>)
    typealias Made = (source: ResizedImage.Source, image: ResizedImage, bytes: [UInt8])

    let program: ResizeProgram

    /// Returns the format of a resized image: the icon's if that is JPEG or WebP, else PNG.
    static func format(of object: StoredObject) -> MediaType {
        [MediaType.jpeg, .webp].first { object.mediaType?.isSame(as: $0.rawValue) == true } ?? .png
    }

    func run(
        _ jobs: [Job], opening open: @escaping (StoredObject) throws -> FileDescriptor,
        unless isCancelled: @escaping () -> Bool
    ) -> [Digest: Result<[Made], any Error>] {
        let lock = NSLock()
        // Safe because `lock` guards the functions and results.
        nonisolated(unsafe) let (open, isCancelled) = (open, isCancelled)
        nonisolated(unsafe) var results: [Digest: Result<[Made], any Error>] = [:]
        DispatchQueue.concurrentPerform(iterations: jobs.count) { number in
            let result = Result {
                try make(jobs[number]) { object in
                    try lock.withLock { try open(object) }
                } unless: { lock.withLock { isCancelled() } }
            }
            lock.withLock { results[jobs[number].object.digest] = result }
        }
        return results
    }

    private func make(
        _ job: Job, opening open: (StoredObject) throws -> FileDescriptor,
        unless isCancelled: () -> Bool
    ) throws -> [Made] {
        if isCancelled() { throw CancellationError() }
        let object = job.object
        let (width, height) = (object.width ?? 0, object.height ?? 0)
        // The sizes come from the index, which is untrusted.
        let (area, isOverflow) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isOverflow, area <= Self.mostPixels else {
            throw ResizeError(
                "the icon has \(width) × \(height) pixels; --resize needs a known size of at most "
                    + "\(Self.mostPixels) pixels")
        }
        guard object.size <= Self.longestIcon else {
            throw ResizeError("--resize needs an icon of at most \(Self.longestIcon) bytes")
        }
        var icon = try open(object)
        let bytes = try icon.read(at: 0, atMost: Int(object.size))
        // Animated icons are not resized, because `vipsthumbnail` would write only the first frame.
        if (try? Self.inspect(bytes))?.isAnimated == true {
            let same = ResizedImage(
                digest: object.digest, size: object.size, width: width, height: height)
            return [(ResizedImage.Source.unchanged(object.digest), same, [])]
        }
        func run(side: Int, _ options: [String], longest: Int) throws -> FileDescriptor {
            try program.run(
                ["stdin[fail_on=error]", "--vips-concurrency=1", "-s", "\(side)x\(side)"] + options,
                input: icon, longest: longest, unless: isCancelled)
        }
        let format = Self.format(of: object)
        if format != .png {
            // Converts to PNG first. Otherwise, the decoder makes the image smaller, with a loss of
            // quality. A photograph's orientation can swap the sides, so both get the longer one.
            icon = try run(
                side: max(width, height), ["-o", ".png[compression=1]"],
                longest: 5 * area + 64 << 10)
        }
        var made: [Made] = []
        for side in job.sides.sorted() {
            // Enough for four uncompressed channels of 16 bits.
            let longest = 8 * side * side + 64 << 10
            func resize(_ colours: [String]) throws -> Made {
                let output = try run(
                    side: side, colours + ["-o", Self.output(format)], longest: longest)
                return try Self.checked(output, object.digest, format, side, longest: longest)
            }
            do {
                made.append(try resize(["-i", "srgb", "-e", "srgb"]))
            } catch let error as ResizeError where error.description.utf8.contains("profile".utf8) {
                // An image that fits no colour profile, such as a grey one, keeps its colours.
                made.append(try resize([]))
            }
        }
        return made
    }

    /// Without metadata, the output depends only on the pixels.
    private static func output(_ format: MediaType) -> String {
        switch format {
        case .jpeg: ".jpg[strip,Q=95,optimize_coding]"
        // `strip` does not remove the profile of WebP.
        case .webp: ".webp[strip,profile=none,lossless]"
        default: ".png[strip]"
        }
    }

    private static func inspect(_ bytes: [UInt8]) throws -> ImageInfo {
        try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
    }

    private static func checked(
        _ output: FileDescriptor, _ digest: Digest, _ format: MediaType, _ side: Int, longest: Int
    ) throws -> Made {
        let size = try output.status().st_size
        guard size <= longest else {
            throw ResizeError("vipsthumbnail wrote more than \(longest) bytes")
        }
        let bytes = try output.read(at: 0, atMost: Int(size))
        let info: ImageInfo
        do {
            info = try inspect(bytes)
        } catch { throw ResizeError("vipsthumbnail wrote no valid image: \(error)") }
        guard info.mediaType == format, let width = info.width, let height = info.height,
            max(width, height) == side
        else { throw ResizeError("vipsthumbnail wrote an image of another size or format") }
        let image = ResizedImage(
            digest: Digest(of: bytes), size: Int64(bytes.count), width: width, height: height)
        return (ResizedImage.Source(digest: digest, side: side), image, bytes)
    }
}

struct ResizedImage {
    struct Source: Hashable {
        let digest: Digest
        /// The length of the longest side in pixels; 0 for an icon that is never resized.
        let side: Int

        static func unchanged(_ digest: Digest) -> Source { Source(digest: digest, side: 0) }
    }

    let digest: Digest
    let size: Int64
    let width: Int
    let height: Int
}
