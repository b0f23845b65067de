import Foundation
import LarderCache
import LarderCore
import LarderImages

/// Makes smaller images with ``ResizeProgram``.
struct Resizer {
    /// Images with more pixels are decompression bombs.
    private static let mostPixels = 8192 * 8192

    struct Job {
        let object: StoredObject
        /// The length of the longest side.
        let pixels: Int

        var source: ResizedImage.Source { .init(digest: object.digest, pixels: pixels) }

        /// The format of the resized image: the icon's if `vipsthumbnail` can write it, else PNG.
        var format: MediaType {
            [MediaType.jpeg, .webp].first { object.mediaType?.isSame(as: $0.rawValue) == true }
                ?? .png
        }

        /// In bytes: 16 bits for each of four channels, uncompressed.
        fileprivate var longestOutput: Int { 8 * pixels * pixels + 64 << 10 }
    }

    typealias Made = (image: ResizedImage, bytes: [UInt8])

    let program: ResizeProgram

    /// Makes the images of jobs, as many at once as there are cores.
    func run(
        _ jobs: [Job], opening open: @escaping (StoredObject) throws -> FileDescriptor,
        unless isCancelled: @escaping () -> Bool
    ) -> [Result<Made, any Error>] {
        let lock = NSLock()
        // Unsafe because the compiler does not know that `lock` guards the functions and results.
        nonisolated(unsafe) let (open, isCancelled) = (open, isCancelled)
        nonisolated(unsafe) var results: [Int: Result<Made, any Error>] = [:]
        DispatchQueue.concurrentPerform(iterations: jobs.count) { number in
            let result = Result {
                try make(jobs[number]) { object in
                    try lock.withLock { try open(object) }
                } unless: {
                    lock.withLock { isCancelled() }
                }
            }
            lock.withLock { results[number] = result }
        }
        return jobs.indices.map { results[$0]! }
    }

    private func make(
        _ job: Job, opening open: (StoredObject) throws -> FileDescriptor,
        unless isCancelled: () -> Bool
    ) throws -> Made {
        if isCancelled() { throw CancellationError() }
        let (width, height) = (job.object.width ?? 0, job.object.height ?? 0)
        // The index is untrusted.
        let (area, isOverflow) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isOverflow, area <= Self.mostPixels else {
            throw ResizeError(
                "the icon has \(width) × \(height) pixels; --resize needs a known size of at most "
                    + "\(Self.mostPixels) pixels")
        }
        func run(
            _ input: FileDescriptor, side: Int, _ options: [String], longest: Int
        ) throws -> FileDescriptor {
            try program.run(
                ["stdin", "--vips-concurrency=1", "-s", "\(side)x\(side)"] + options,
                input: input, longest: longest, unless: isCancelled)
        }
        var icon = try open(job.object)
        if job.format != .png {
            // Otherwise the decoder would make the image smaller, with a loss of quality. The
            // orientation of a photograph can swap the sides.
            icon = try run(
                icon, side: max(width, height), ["-o", ".png[compression=1]"],
                longest: 5 * area + 64 << 10)
        }
        func resize(_ colours: [String]) throws -> FileDescriptor {
            try run(
                icon, side: job.pixels, colours + ["-o", Self.output(job.format)],
                longest: job.longestOutput)
        }
        do {
            return try checked(resize(["-i", "srgb", "-e", "srgb"]), job)
        } catch let error as ResizeError where error.description.utf8.contains("profile".utf8) {
            // An image that fits no colour profile, such as a grey one, keeps its colours.
            return try checked(resize([]), job)
        }
    }

    /// Returns the form of the output. Metadata would depend on more than the pixels.
    private static func output(_ format: MediaType) -> String {
        switch format {
        case .jpeg: ".jpg[strip,Q=95,optimize_coding]"
        // The profile of WebP is kept even with `strip`.
        case .webp: ".webp[strip,profile=none,lossless]"
        default: ".png[strip]"
        }
    }

    /// Returns the image that a process has made, which is checked like a download.
    private func checked(_ output: FileDescriptor, _ job: Job) throws -> Made {
        let size = try output.status().st_size
        guard size <= job.longestOutput else {
            throw ResizeError("vipsthumbnail wrote more than \(job.longestOutput) bytes")
        }
        let bytes = try output.read(at: 0, atMost: Int(size))
        let info: ImageInfo
        do {
            info = try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
        } catch {
            throw ResizeError("vipsthumbnail wrote no valid image: \(error)")
        }
        guard info.mediaType == job.format, let width = info.width, let height = info.height,
            max(width, height) == job.pixels
        else { throw ResizeError("vipsthumbnail wrote an image of another size or format") }
        let image = ResizedImage(
            digest: Digest(of: bytes), size: Int64(bytes.count), width: width, height: height,
            isUsed: true)
        return (image, bytes)
    }
}

/// The failure of one icon.
struct ResizeError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
