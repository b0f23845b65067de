import ArgumentParser
import Foundation
import LarderCache
import LarderExport
import LarderManifest

enum ExitStatus: Int32, CaseIterable {
    case done = 0
    case couldNotRun = 1
    case someFailed = 2
    // Status 64, wrong usage, is `ExitCode.validationFailure`.
    case badManifest = 65
    case missingInput = 66
    case missingProgram = 69
    case storage = 74
    case locked = 75
    case interrupted = 130
    case terminated = 143

    static let list = """
          0    everything requested is done
          1    the command could not run
          2    some entries failed, corruption was found, or a limit could not be met
          64   wrong usage
          65   a manifest is not valid
          66   an input or the cache is missing
          69   a program that an option needs is missing
          74   the disk is full or failing, or output was lost; stored objects are kept
          75   another process holds the lock
          130  interrupted; finished work is kept
          143  terminated; finished work is kept
        """

    init(_ error: any Error) {
        switch error {
        case let error as CacheError: self.init(error.code)
        case let error as ManifestError:
            switch error.code {
            case .unreadable where [EMFILE, ENFILE].contains(error.errorNumber): self = .couldNotRun
            case .missing, .unreadable: self = .missingInput
            default: self = .badManifest
            }
        case is MissingInputError: self = .missingInput
        case is MissingProgramError: self = .missingProgram
        default: self = .couldNotRun
        }
    }

    /// Returns an error's status. A thrown `ValidationError` would make the parser print the usage.
    static func code(of error: any Error) -> ExitCode {
        error is ValidationError ? .validationFailure : ExitCode(ExitStatus(error).rawValue)
    }

    init(_ code: CacheError.Code) {
        switch code {
        case .storage: self = .storage
        case .locked: self = .locked
        case .corrupt, .obstructed: self = .someFailed
        case .unusable, .missing, .index, .damaged: self = .couldNotRun
        }
    }

    func exit() throws { if self != .done { throw ExitCode(rawValue) } }
}
