import Foundation
import LarderTestSupport

/// A running `larder serve`.
final class ServeRun: Sendable {
    let process: RunningProcess
    /// The server's URL, for example `http://127.0.0.1:41237/`.
    let url: String
    let port: UInt16

    init(_ larder: CLIFixture, _ options: [String] = []) throws {
        process = try larder.binary.start(
            ["serve", "--cache", larder.cache, "--listen", "127.0.0.1:0"] + options)
        guard process.waitForOutput(until: { output, _ in output.contains("\n") }) else {
            process.kill(SIGKILL)
            throw BrokenPromise("serve does not listen: \(try process.wait())")
        }
        let line = process.standardOutputSoFar.split(separator: "\n").first
        guard let line, let port = UInt16(line.dropLast().split(separator: ":").last ?? "") else {
            throw BrokenPromise("serve has ended: \(try process.wait())")
        }
        (url, self.port) = (String(line), port)
    }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBuffer: receiveBuffer)
    }

    var residentBytes: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
            return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
        }
    }

    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) throws -> Finished {
        process.kill(signal)
        return try process.wait()
    }
}
