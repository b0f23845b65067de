import Foundation

/// A one-node Slurm cluster on the loopback interface.
///
/// It stops when its last reference is released or the test process ends, even by a crash.
public final class SlurmCluster: Sendable {
    private let process: ServerProcess

    /// Starts a cluster and waits until it is ready, which takes a second or two.
    public init() async throws {
        if let missing = Self.missing { throw ServerFailure(name: "slurm", message: missing) }
        process = try await onThreadOfItsOwn {
            try ServerProcess.start("slurm.sh", portCount: 2)
        }
    }

    /// The reason why the cluster cannot be started; nil if it can.
    public static let missing: String? = {
        guard geteuid() == 0 else { return "Slurm's node daemon needs root" }
        let programs = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol"]
        return programs.first { program($0) == nil }
            .map { "\($0) is not installed (Scripts/setup --servers)" }
    }()

    /// Returns the path of a program. The daemons are in directories that `PATH` may not contain.
    private static func program(_ name: String) -> String? {
        ServerProcess.program(name)
            ?? ["/usr/sbin/\(name)", "/sbin/\(name)"]
            .first(where: FileManager.default.isExecutableFile)
    }

    /// Submits a script and waits until all its jobs have ended, including requeued ones.
    ///
    /// - Parameters:
    ///   - environment: Variables that are added to this process's environment for the jobs.
    ///   - directory: The directory in which the jobs run and write their output.
    /// - Returns: The exit statuses of the array tasks, in order.
    public func run(
        _ script: String, _ arguments: [String], environment: [String: String], directory: String
    ) async throws -> [Int32] {
        try await onThreadOfItsOwn { [self] in
            let job = try command(
                "sbatch", ["--parsable", script] + arguments, environment, directory)
            // This command starts after the job has ended, which saves polling.
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
