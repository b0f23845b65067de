import Foundation

/// A Slurm of one node on the loopback interface, run for tests. It ends when its last reference
/// goes, and when the test process ends, however that ends.
public final class SlurmCluster: Sendable {
    private let process: ServerProcess

    /// Starts one and waits for it; a second or two.
    public init() async throws {
        if let missing = Self.missing { throw ServerFailure(name: "slurm", message: missing) }
        process = try await onThreadOfItsOwn { try Self.start() }
    }

    /// The kernel chooses the ports, but somebody else may take them before Slurm does.
    private static func start() throws -> ServerProcess {
        var attempts = 0
        while true {
            attempts += 1
            do {
                let sockets = try (0..<2).map { _ in try Socket.bound(to: .ipv4, port: 0) }
                let ports = try sockets.map { try Socket.port(of: $0) }
                for socket in sockets { close(socket) }
                return try ServerProcess("slurm.sh", ports.map { "\($0)" })
            } catch  where attempts < 3 {}
        }
    }

    /// Why it cannot be started; nil if it can.
    public static let missing: String? = {
        guard geteuid() == 0 else { return "Slurm's node daemon needs root" }
        let programs = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol"]
        return programs.first { program($0) == nil }
            .map { "\($0) is not installed (Scripts/setup --servers)" }
    }()

    /// The daemons are where root alone looks.
    private static func program(_ name: String) -> String? {
        ServerProcess.program(name)
            ?? ["/usr/sbin/\(name)", "/sbin/\(name)"]
            .first(where: FileManager.default.isExecutableFile)
    }

    /// Submits a script, waits until each of its jobs has ended, however often it was requeued, and
    /// returns how they ended: an exit status for each array task, in their order.
    ///
    /// - Parameters:
    ///   - environment: of the jobs, beside this process's own.
    ///   - directory: where they run, and where their output goes.
    public func run(
        _ script: String, _ arguments: [String], environment: [String: String], directory: String
    ) async throws -> [Int32] {
        try await onThreadOfItsOwn { [self] in
            let job = try command(
                "sbatch", ["--parsable", script] + arguments, environment, directory)
            // It is begun once the other is over, and so nobody needs to ask again and again.
            _ = try command(
                "srun", ["--quiet", "--dependency=afterany:\(job)", "true"], [:], directory)
            let states = try command(
                "scontrol", ["--oneliner", "show", "job", job], [:], directory)
            return states.split(separator: "\n").map { line -> (Int, Int32) in
                func value(_ name: String) -> Substring {
                    let word = line.split(separator: " ").first { $0.hasPrefix("\(name)=") }
                    return word?.dropFirst(name.utf8.count + 1) ?? ""
                }
                let status = value("ExitCode").split(separator: ":").first ?? ""
                return (Int(value("ArrayTaskId")) ?? 0, Int32(status) ?? -1)
            }
            .sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func command(
        _ name: String, _ arguments: [String], _ environment: [String: String], _ directory: String
    ) throws -> String {
        let own = ["SLURM_CONF": process.directory.path("slurm.conf")]
        let finished = try RunningProcess(
            Self.program(name) ?? name, arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }
                .merging(own) { $1 },
            directory: directory
        ).wait()
        guard finished.status == 0 else {
            throw ServerFailure(name: name, message: "\(finished)")
        }
        return finished.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
