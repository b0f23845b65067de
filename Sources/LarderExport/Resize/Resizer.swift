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

    /// A run of one job. JPEG and WebP are decoded first, because otherwise the decoder would make
    /// them smaller, with a loss of quality. An image that fits no colour profile, such as a grey
    /// one, is resized in its own colours.
    private struct Run {
        enum Step { case decode, convert, keepColours }

        let job: Job
        var step: Step
        var process: LimitedProcess
    }

    /// Runs as many jobs at once as there are cores.
    func run(
        _ jobs: [Job], opening open: (StoredObject) throws -> FileDescriptor,
        unless isCancelled: () -> Bool,
        _ body: (Job, Result<Made, any Error>) throws -> Void
    ) throws {
        var waiting = jobs.makeIterator()
        var runs: [Run] = []
        var isEmpty = false
        while true {
            while !isEmpty, runs.count < ProcessInfo.processInfo.activeProcessorCount {
                guard let job = waiting.next() else {
                    isEmpty = true
                    break
                }
                do { runs.append(try start(job, open)) } catch { try body(job, .failure(error)) }
            }
            if runs.isEmpty { return }
            // The processes of `runs` end with their last reference.
            if isCancelled() { throw CancellationError() }
            var left: [Run] = []
            for run in runs {
                do {
                    guard let end = run.process.end() else {
                        left.append(run)
                        continue
                    }
                    if let next = try next(after: run, end, open) {
                        left.append(next)
                    } else {
                        try body(run.job, Result { try made(by: run, end) })
                    }
                } catch let error as ResizeError {
                    try body(run.job, .failure(error))
                }
            }
            if left.count == runs.count { usleep(LimitedProcess.pause) }
            runs = left
        }
    }

    private func start(
        _ job: Job, _ open: (StoredObject) throws -> FileDescriptor
    ) throws -> Run {
        let (width, height) = (job.object.width ?? 0, job.object.height ?? 0)
        // The index is untrusted.
        let (area, isOverflow) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isOverflow, area <= Self.mostPixels else {
            throw ResizeError(
                "the icon has \(width) × \(height) pixels; --resize needs a known size of at most "
                    + "\(Self.mostPixels) pixels")
        }
        let step: Run.Step = job.format == .png ? .convert : .decode
        return Run(job: job, step: step, process: try process(step, job, open(job.object)))
    }

    private func process(
        _ step: Run.Step, _ job: Job, _ input: FileDescriptor
    ) throws -> LimitedProcess {
        var words = ["stdin", "--vips-concurrency=1", "-s"]
        var longest = job.longestOutput
        switch step {
        case .decode:
            let (width, height) = (job.object.width ?? 0, job.object.height ?? 0)
            longest = 5 * width * height + 64 << 10
            // The orientation of a photograph can swap the sides.
            let side = max(width, height)
            words += ["\(side)x\(side)", "-o", ".png[compression=1]"]
        case .convert, .keepColours:
            words += ["\(job.pixels)x\(job.pixels)"]
            if step == .convert { words += ["-i", "srgb", "-e", "srgb"] }
            words += ["-o", Self.output(job.format)]
        }
        return try program.process(words, input: input, output: longest)
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

    private func next(
        after run: Run, _ end: LimitedProcess.End,
        _ open: (StoredObject) throws -> FileDescriptor
    ) throws -> Run? {
        var next = run
        if run.step == .decode, end == .exited(0) {
            next.step = .convert
            guard lseek(run.process.output.raw, 0, SEEK_SET) == 0 else { return nil }
            next.process = try process(.convert, run.job, run.process.output)
        } else if run.step == .convert, case .exited(1...) = end,
            try run.process.complaint().utf8.contains("profile".utf8)
        {
            next.step = .keepColours
            next.process = try process(.keepColours, run.job, open(run.job.object))
        } else {
            return nil
        }
        return next
    }

    /// Checks the image like a download.
    private func made(by run: Run, _ end: LimitedProcess.End) throws -> Made {
        let job = run.job
        guard end == .exited(0), run.step != .decode else {
            throw ResizeError(try program.message(end, run.process))
        }
        guard let bytes = try run.process.bytes(atMost: job.longestOutput) else {
            throw ResizeError("vipsthumbnail wrote more than \(job.longestOutput) bytes")
        }
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
