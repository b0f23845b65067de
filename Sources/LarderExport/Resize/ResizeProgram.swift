import Foundation
import LarderCache
import LarderCore
import LarderImages

/// The program `vipsthumbnail`. It has limits and no network, because images are untrusted.
struct ResizeProgram {
    /// The time between two checks of a process, in microseconds. A resize takes at least 30 ms.
    private static let pause: UInt32 = 2000

    /// The versions of the program and of the rules in `make`, written to the list of images.
    private(set) var recipe = ""
    /// The command that disconnects the network. Empty if users are not permitted to do this.
    private var isolation = ["unshare", "-rn"]
    private let path: String
    private let seconds: Int

    /// - Parameter path: The directories to search, as in `PATH`.
    init(path: String, seconds: Int) throws {
        // A relative directory would run a program from the working directory.
        let directories = path.utf8.split(separator: UInt8(ascii: ":"))
            .filter { $0.first == UInt8(ascii: "/") }.map { String(Substring($0)) }
        for (program, package) in [
            ("vipsthumbnail", "libvips-tools (Debian, Ubuntu) or vips-tools (Fedora)"),
            ("prlimit", "util-linux (on Linux)"), ("setpriv", "util-linux (on Linux)"),
        ] where !directories.contains(where: { access("\($0)/\(program)", X_OK) == 0 }) {
            throw MissingProgramError("--resize needs the program \(program); install \(package)")
        }
        (self.path, self.seconds) = (directories.joined(separator: ":"), seconds)
        while recipe.utf8.isEmpty {
            do {
                let output = try run(["--version"], input: nil, longest: 1 << 20) { false }
                let version = try output.read(at: 0, atMost: 1 << 10).prefix {
                    $0 > 0x20 && $0 < 0x7F
                }
                guard !version.isEmpty else { throw ResizeError("it printed no version") }
                // Increase the number when the rules in `make` change.
                recipe = "\(String(decoding: version, as: UTF8.self)) 3"
            } catch let error as ResizeError {
                guard !isolation.isEmpty else {
                    throw MissingProgramError(
                        "vipsthumbnail does not run: \(error); install libvips-tools again")
                }
                isolation = []
            }
        }
    }

    /// Returns the program's output, up to `longest` bytes. The standard streams are files, so that
    /// the file size limit also limits the output.
    func run(
        _ arguments: [String], input: FileDescriptor?, longest: Int, unless isCancelled: () -> Bool
    ) throws -> FileDescriptor {
        #if os(Linux)
            let (output, errors) = (try FileDescriptor.unnamed(), try FileDescriptor.unnamed())
            let input = try input ?? .open("/dev/null", flags: O_RDONLY)
            lseek(input.raw, 0, SEEK_SET)
            let pid = try start(
                wrappers(longest: longest) + ["vipsthumbnail"] + arguments,
                streams: [input, output, errors])
            let deadline = ContinuousClock.now + .seconds(seconds)
            var information = siginfo_t()
            var (isLate, isUnwanted) = (false, false)
            while !isLate, !isUnwanted,
                waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
                information.si_signo != SIGCHLD
            {
                usleep(Self.pause)
                (isLate, isUnwanted) = (deadline < .now, isCancelled())
            }
            // Also ends the processes that the program has started. The process is a zombie until
            // waitpid(2), so no other process group can have its number.
            kill(-pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            if isUnwanted { throw CancellationError() }
            if isLate { throw ResizeError("vipsthumbnail did not end within \(seconds) s") }
            let signal = status & 0x7F
            guard signal == 0 else {
                throw ResizeError(
                    "vipsthumbnail was ended by signal \(signal) "
                        + "(\(String(cString: strsignal(signal))))")
            }
            guard status == 0 else {
                let last = try errors.read(at: 0, atMost: 16 << 10)
                    .split(separator: UInt8(ascii: "\n")).suffix(2)
                    .map { ": " + String(decoding: $0.prefix(200), as: UTF8.self) }
                throw ResizeError(
                    "vipsthumbnail ended with status \(status >> 8)" + last.joined(separator: ""))
            }
            return output
        #else
            throw MissingProgramError("--resize needs Linux")
        #endif
    }

    #if os(Linux)
        private func wrappers(longest: Int) -> [String] {
            // `prlimit` cannot raise this process's limits. The signal for processor time is sent
            // only if the hard limit is higher than the soft limit.
            let limits: [(String, __rlimit_resource, UInt)] = [
                ("as", RLIMIT_AS, 2 << 30),  // bytes
                ("cpu", RLIMIT_CPU, 20),  // seconds
                ("fsize", RLIMIT_FSIZE, UInt(longest)),
                // The user's other processes and threads count too.
                ("nproc", __RLIMIT_NPROC, 4096),
            ]
            let options = limits.map { name, resource, wanted in
                var limit = rlimit()
                let isKnown = getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
                let highest = isKnown ? UInt(limit.rlim_max) : .max
                return "--\(name)=\(min(wanted, highest)):\(min(wanted + 1, highest))"
            }
            // The last variable disables decoders that libvips considers unsafe.
            return ["/usr/bin/env", "-i", "PATH=\(path)", "LC_ALL=C", "VIPS_BLOCK_UNTRUSTED=1"]
                + isolation + ["prlimit", "--core=0"] + options
                + ["setpriv", "--no-new-privs", "--pdeathsig=KILL"]
        }

        /// Starts a program in a new process group. Does not use Foundation's `Process`: its
        /// children inherit the signals that worker threads block, such as SIGXCPU, and it reaps a
        /// child at any time, so the group's number could belong to a different process.
        private func start(_ arguments: [String], streams: [FileDescriptor]) throws -> pid_t {
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            for (number, file) in streams.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, file.raw, Int32(number))
            }
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            sigfillset(&signals)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            posix_spawnattr_setflags(
                &attributes,
                Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
            var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            var pid: pid_t = 0
            let code = posix_spawn(&pid, arguments[0], &actions, &attributes, &words, nil)
            guard code == 0 else { throw CacheError("run", subject: arguments[0], errno: code) }
            return pid
        }
    #endif
}

package struct MissingProgramError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

struct ResizeError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The size at which icons are shown: a length in points, and the scales of the devices.
package struct Resize: Sendable {
    package static let allowedPoints = 1...1024
    package static let allowedScales = 1...4

    /// The length of the longest side at a scale of 1, in pixels.
    package let points: Int
    /// In ascending order.
    package let scales: [Int]

    package init(points: Int, scales: Set<Int>) {
        (self.points, self.scales) = (points, scales.sorted())
    }
}

extension ResizeProgram {
    private static let mostPixels = 8192 * 8192
    /// The maximum size of an icon in bytes. Each thread reads a whole icon into memory.
    private static let longestIcon: Int64 = 64 << 20

    /// An icon and, for each image that it lacks, the length of the longest side in pixels.
    typealias Job = (object: StoredObject, sides: Set<Int>)
    typealias Made = (source: ResizedImage.Source, image: ResizedImage, bytes: [UInt8])

    /// Returns the format of a resized image: the icon's if it is JPEG or WebP, or else PNG.
    static func format(of object: StoredObject) -> MediaType {
        [MediaType.jpeg, .webp].first { object.mediaType?.isSame(as: $0.rawValue) == true } ?? .png
    }

    func resize(
        _ jobs: [Job], opening open: @escaping (StoredObject) throws -> FileDescriptor,
        unless isCancelled: @escaping () -> Bool
    ) -> [Digest: Result<[Made], any Error>] {
        let lock = NSLock()
        // Safe because `lock` guards the functions and results.
        nonisolated(unsafe) let (open, isCancelled) = (open, isCancelled)
        nonisolated(unsafe) var results: [Digest: Result<[Made], any Error>] = [:]
        DispatchQueue.concurrentPerform(iterations: jobs.count) { number in
            let result = Result {
                try make(
                    jobs[number], opening: { object in try lock.withLock { try open(object) } },
                    unless: { lock.withLock { isCancelled() } })
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
            return [(ResizedImage.Source(digest: object.digest, side: 0), same, [])]
        }
        func run(side: Int, _ options: [String], longest: Int) throws -> FileDescriptor {
            try self.run(
                ["stdin[fail_on=error]", "--vips-concurrency=1", "-s", "\(side)x\(side)"] + options,
                input: icon, longest: longest, unless: isCancelled)
        }
        let format = Self.format(of: object)
        if format != .png {
            // Converts to PNG at full size first, because the decoder would lose quality when it
            // shrinks the image. The limit is the longer side, because a photograph's orientation
            // can swap width and height.
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
                // An image that cannot be converted to sRGB, such as a grey one, keeps its colours.
                made.append(try resize([]))
            }
        }
        return made
    }

    /// Without metadata, the output depends only on the pixels.
    private static func output(_ format: MediaType) -> String {
        switch format {
        case .jpeg: ".jpg[strip,Q=95,optimize_coding]"
        // `strip` does not remove the colour profile of a WebP image.
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
        /// The length of the longest side in pixels, or 0 for an icon that is never resized.
        let side: Int
    }

    let digest: Digest
    let size: Int64
    let width: Int
    let height: Int
}
