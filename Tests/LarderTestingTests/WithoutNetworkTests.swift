import Foundation
import LarderTestSupport
import Testing

/// The tests' program, run again in a network namespace without a route.
@Suite(.enabled(if: missing == nil, "\(missing ?? "")"))
struct WithoutNetworkTests {
    @Test func aThousandRequestsOpenNoSocket() async throws {
        try await withTemporaryDirectory { directory in
            let trace = directory.path("trace")
            let finished = try await onThreadOfItsOwn {
                try RunningProcess(
                    "/usr/bin/env",
                    [
                        "unshare", "-rn", "strace", "-f", "-qq", "-e", "trace=socket,connect",
                        "-e", "signal=none", "-o", trace, CommandLine.arguments[0],
                        "--testing-library", "swift-testing", "--filter",
                        "aThousandConcurrentRequestsAreAnswered",
                    ]
                ).wait()
            }
            try #require(finished.status == 0, "\(finished)")
            #expect("\(finished)".contains("Test run with 1 test"), "\(finished)")
            let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            // The system libraries may connect to local services such as the system log.
            #expect(calls.filter { !$0.contains("AF_UNIX") } == [])
        }
    }
}

/// The reason why no program can run without a network; nil if it can.
private let missing: String? = {
    func succeeds(_ words: String...) -> Bool {
        (try? RunningProcess("/usr/bin/env", words).wait().status) == 0
    }
    guard succeeds("strace", "-V") else { return "strace is not installed" }
    guard succeeds("unshare", "-rn", "strace", "-o", "/dev/null", "true") else {
        return "unshare -rn and strace are not allowed here"
    }
    return nil
}()
