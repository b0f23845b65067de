import Foundation
import LarderCache

/// The program `vipsthumbnail`, run in processes with limits and without a network, because images
/// are untrusted.
struct ResizeProgram {
    /// The processor time of each process in seconds. Lower limits of this process apply instead.
    private static let processorTime: UInt = 20
    /// In bytes.
    private static let addressSpace: UInt = 2 << 30
    /// The user's other processes and threads count too.
    private static let processes: UInt = 4096

    /// The program's version and the form of its arguments, which the bytes depend on.
    private(set) var recipe = ""
    private let vipsthumbnail: String
    private let prlimit: String
    private let setpriv: String
    /// Nil if the system does not let users remove the network.
    private var unshare: String?
    private let path: String
    private let seconds: Int

    /// Finds the programs. Throws ``MissingProgram`` if one is missing or does not run.
    ///
    /// - Parameters:
    ///   - path: The directories to search, as in `PATH`.
    ///   - seconds: The time of each process.
    init(path: String, seconds: Int) throws {
        func find(_ name: String) -> String? {
            // A relative directory would run a program from the working directory.
            path.utf8.split(separator: UInt8(ascii: ":")).lazy
                .filter { $0.first == UInt8(ascii: "/") }
                .map { "\(Substring($0))/\(name)" }.first { access($0, X_OK) == 0 }
        }
        func require(_ name: String, from packages: String) throws -> String {
            if let found = find(name) { return found }
            throw MissingProgram("--resize needs the program \(name); install \(packages)")
        }
        vipsthumbnail = try require(
            "vipsthumbnail", from: "libvips-tools (Debian, Ubuntu) or vips-tools (Fedora)")
        prlimit = try require("prlimit", from: "util-linux (on Linux)")
        setpriv = try require("setpriv", from: "util-linux (on Linux)")
        unshare = find("unshare")
        self.path = path
        self.seconds = seconds
        while true {
            do {
                let output = try run(["--version"], input: nil, longest: 1 << 20) { false }
                let version = try output.read(at: 0, atMost: 1 << 10).prefix {
                    $0 > 0x20 && $0 < 0x7F
                }
                guard !version.isEmpty else { throw ResizeError("vipsthumbnail has no version") }
                // The number changes with the arguments in `Resizer`.
                recipe = "\(String(decoding: version, as: UTF8.self)) 1"
                return
            } catch let error as ResizeError {
                guard unshare != nil else {
                    throw MissingProgram(
                        "\(vipsthumbnail) does not run: \(error); install libvips-tools again")
                }
                unshare = nil
            }
        }
    }

    /// Runs the program. Its output may have `longest` bytes.
    func run(
        _ arguments: [String], input: FileDescriptor?, longest: Int, unless isCancelled: () -> Bool
    ) throws -> FileDescriptor {
        var words = unshare.map { [$0, "-rn"] } ?? []
        words.append(prlimit)
        #if os(Linux)
            words += [
                limit("as", RLIMIT_AS, Self.addressSpace),
                limit("cpu", RLIMIT_CPU, Self.processorTime),
                limit("fsize", RLIMIT_FSIZE, UInt(longest)),
                limit("nproc", __RLIMIT_NPROC, Self.processes), "--core=0",
            ]
        #endif
        words += [setpriv, "--no-new-privs", "--pdeathsig=KILL", vipsthumbnail]
        return try LimitedProcess.run(
            words + arguments,
            // Leaves out the decoders that libvips does not consider safe, such as ImageMagick.
            environment: ["PATH=\(path)", "LC_ALL=C", "VIPS_BLOCK_UNTRUSTED=1"],
            input: input, seconds: seconds, unless: isCancelled)
    }

    #if os(Linux)
        /// Returns an option of `prlimit`, which cannot raise a limit. The signal for processor
        /// time is sent only if the hard limit is higher.
        private func limit(
            _ name: String, _ resource: __rlimit_resource, _ wanted: UInt
        ) -> String {
            var limit = rlimit()
            let isKnown = getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
            let highest = isKnown ? UInt(limit.rlim_max) : .max
            return "--\(name)=\(min(wanted, highest)):\(min(wanted + 1, highest))"
        }
    #endif
}

/// A program that an option needs, which is missing or does not run.
package struct MissingProgram: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
