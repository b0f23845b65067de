import Foundation
import LarderTestSupport
import Testing

@Suite struct RunningProcessTests {
    private func shell(
        _ script: String, input: Data? = nil, environment: [String: String] = [:]
    ) throws -> Finished {
        try RunningProcess(
            "/bin/sh", ["-c", script], standardInput: input, environment: environment
        ).wait()
    }

    @Test func exitStatusesAreDistinguishedFromSignals() throws {
        #expect(try shell("exit 130").status == 130)
        #expect(try shell("kill -INT $$").status == -SIGINT)
        #expect(throws: OriginError.self) { try RunningProcess("/nowhere/at/all") }
    }

    @Test func processesCanReadAndWriteMegabytesAtTheSameTime() throws {
        let input = Data(String(repeating: "0123456789abcdef", count: 200_000).utf8)
        let finished = try shell("tee /dev/fd/2", input: input)
        #expect(finished.standardOutputBytes == input)
        #expect(finished.standardErrorBytes == input)
        #expect(try shell("exec <&-; echo done", input: input).standardOutput == "done\n")
        #expect(try shell("cat").standardOutput == "")
    }

    @Test func childrenGetOnlyStandardStreamsAndTheGivenEnvironment() throws {
        let stray = open("/dev/null", O_RDONLY)
        defer { close(stray) }
        let finished = try shell(
            "ls /dev/fd/ | wc -l; echo $A; env | wc -l", environment: ["A": "b"])
        let lines = finished.standardOutput.split(separator: "\n")
        // The three standard streams and the directory that `ls` reads.
        #expect(Int(lines[0].trimmingCharacters(in: .whitespaces)) == 4)
        #expect(lines[1] == "b")
    }

    @Test func childrenDoNotReadTheConfigurationFileOfTheDeveloper() throws {
        let script = #"echo "${LARDER_CONFIG_PATH-unset}""#
        #expect(try shell(script).standardOutput == "\n")
        let inherited = ProcessInfo.processInfo.environment
        #expect(try shell(script, environment: inherited).standardOutput == "\n")
        let file = ["LARDER_CONFIG_PATH": "/own.conf"]
        #expect(try shell(script, environment: file).standardOutput == "/own.conf\n")
    }

    @Test func processesRunInTheGivenDirectory() throws {
        let finished = try RunningProcess("/bin/pwd", directory: "/").wait()
        #expect(finished.standardOutput == "/\n")
    }

    @Test func childrenReceiveSignalsThatTheTestsIgnoreOrBlock() throws {
        // Not restored, because other tests in this process may rely on it.
        signal(SIGPIPE, SIG_IGN)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        defer { pthread_sigmask(SIG_UNBLOCK, &signals, nil) }
        #expect(try shell("kill -PIPE $$; exit 1").status == -SIGPIPE)
        #expect(try shell("kill -TERM $$; exit 1").status == -SIGTERM)
    }

    @Test func signalsAreSentOnlyToRunningProcesses() throws {
        let process = try RunningProcess("/bin/sleep", ["60"])
        #expect(kill(process.pid, 0) == 0)
        process.kill(SIGTERM)
        #expect(try process.wait().status == -SIGTERM)
        // The process is reaped, so this must not send a signal to another process.
        process.kill(SIGKILL)
        #expect(try process.wait().status == -SIGTERM)
    }

    @Test func aProcessThatTimesOutIsKilledAndItsOutputShown() throws {
        let process = try RunningProcess("/bin/sh", ["-c", "echo begun; exec sleep 60"])
        let error = #expect(throws: ProcessTimeout.self) { try process.wait(timeout: 0.3) }
        #expect("\(error!)".contains("sleep 60 did not end within 0.3 s"))
        #expect("\(error!)".contains("begun"))
        #expect(try process.wait().status == -SIGKILL)
    }

    @Test func releasingAProcessKillsIt() throws {
        // The writer holds the reader's input open until it is killed.
        try withTemporaryDirectory { directory in
            let fifo = directory.path("fifo")
            mkfifo(fifo, 0o600)
            let reader = try RunningProcess("/bin/cat", [fifo])
            var writer: RunningProcess? = try RunningProcess(
                "/bin/sh", ["-c", "exec >'\(fifo)'; echo open; exec sleep 60"])
            #expect(writer != nil)
            let opened = try RunningProcess("/bin/sh", ["-c", "echo too >'\(fifo)'"]).wait()
            #expect(opened.status == 0)
            writer = nil
            let finished = try reader.wait()
            #expect(finished.status == 0)
        }
    }

    @Test func manyProcessesRunConcurrently() throws {
        DispatchQueue.concurrentPerform(iterations: 64) { index in
            let script = "cat; echo $0 >&2; exit \(index)"
            let finished = try? RunningProcess(
                "/bin/sh", ["-c", script, "\(index)"], standardInput: Data("in \(index)".utf8)
            ).wait()
            #expect(finished?.status == Int32(index))
            #expect(finished?.standardOutput == "in \(index)")
            #expect(finished?.standardError == "\(index)\n")
        }
    }

    @Test func peakMemoryIsThatOfTheChild() throws {
        let script = "x=$(head -c 4000000 /dev/zero | tr '\\0' x); read y; echo ${#x}"
        let ballast = [UInt8](repeating: 1, count: 200_000_000)
        let finished = try shell(
            script, input: Data(String(repeating: "y", count: 80_000).utf8 + [10]),
            environment: ProcessInfo.processInfo.environment)
        #expect(finished.standardOutput == "4000000\n")
        let peak = try #require(finished.peakMemoryBytes)
        #expect(peak > 4_000_000 && peak < 100_000_000)
        #expect(ballast.last == 1)
    }
}
