/** What an edit does. */
export type Mode =
  | "create" | "edit" | "append" | "overwrite" | "insert" | "replace_lines" | "delete_lines"
  | "delete" | "rename" | "replace_symbol" | "insert_before_symbol" | "insert_after_symbol"
  | "rename_symbol";

/** One edit of one file, in the keys of a request. */
export interface Edit {
  /** The file, relative to the worktree's root, with `/`. */
  path: string;
  mode: Mode;
  /** Mode edit: the present text, which must occur exactly once, unless `replace_all` is set. */
  old_text?: string;
  /** The new text; of the whole file for create and overwrite. */
  content?: string;
  replace_all?: boolean;
  executable?: boolean;
  /** Mode rename: the new path. Mode rename_symbol: the new name. */
  to?: string;
  symbol?: string;
  /** The first line, counted from 1. */
  start_line?: number;
  /** The last line, included. */
  end_line?: number;
  expected_text?: string;
  /** The blob id that the file must have. */
  expected_hash?: string;
}

/** One refusal. */
export interface Finding {
  /** The stable code, such as `OLD_TEXT_NOT_FOUND`. */
  code: string;
  message: string;
  /** The next call to make. */
  hint: string;
  path: string | null;
  /** The word that overrides the refusal; null if the request cannot override it. */
  allow: string | null;
  evidence: Record<string, unknown>;
}

export interface Warning {
  code: string;
  message: string;
  path: string | null;
}

export interface FileChange {
  path: string;
  change: "added" | "modified" | "deleted" | "renamed";
  from: string | null;
  lines_added: number;
  lines_removed: number;
  hash_before: string | null;
  /** The blob id after the change; send it as `expected_hash` with the next edit. */
  hash_after: string | null;
  context: string | null;
  [key: string]: unknown;
}

export interface Session {
  name: string;
  branch: string;
  base: string | null;
  [key: string]: unknown;
}

/** A comment of the user on the session, an edit, a file or lines of it. */
export interface Comment {
  id: number;
  text: string;
  edit: number | null;
  path: string | null;
  /** The file's present name; null if it is gone. */
  path_now: string | null;
  /** The first and the last line, counted from 1, when the comment was written. */
  lines: [number, number] | null;
  /** Where the first of the lines is now; null if that is not sure. */
  line_now: number | null;
  outdated: boolean;
  /** The lines when the comment was written. */
  quoted: string[];
  [key: string]: unknown;
}

/** The comments of the user that wait for the agent. */
export interface Comments {
  /** How many comments of the session are open. */
  open: number;
  /** Those that no answer had yet. Each is in one answer in full. */
  unread: Comment[];
  /** How many further ones are unread: the next answer has them. */
  left_out: number;
  /** What to call. */
  hint: string;
  [key: string]: unknown;
}

/** The answer of a command that changes something. */
export interface Outcome {
  schema: "edt.outcome/1";
  status: string;
  session: Session | null;
  /** The commit that records the change, as a hex object id. */
  commit: string | null;
  /** The number of the edit that the call made. */
  edit: number | null;
  /** The number of the proposal that the call made: the user has to approve it. */
  proposal: number | null;
  files: FileChange[];
  errors: Finding[];
  warnings: Warning[];
  lessons: string[];
  /** The user's comments; missing if none is open. */
  comments?: Comments;
  [key: string]: unknown;
}

/** A file as `edt read` prints it. */
export interface Text {
  path: string;
  text: string;
  /** The blob id; send it as `expected_hash`. */
  hash: string;
  lines: number;
  [key: string]: unknown;
}

export interface Commit {
  commit: string;
  kind: string | null;
  edit: number | null;
  subject: string;
  agent: string | null;
  [key: string]: unknown;
}

export interface RequestOptions {
  /** Why; becomes the commit's subject. */
  message?: string;
  /** Overrides, such as `size_reduction`. */
  allow?: string[];
  /** Do everything except writing. */
  dryRun?: boolean;
}

export interface WorkspaceOptions {
  /** The agent's name, which becomes a trailer of its commits. */
  agent?: string;
  /** The program; found by `findProgram` if omitted. */
  program?: string;
  /** The longest time of one call in milliseconds; no limit if omitted. */
  timeout?: number;
}

/** The program could not be started, or its answer is not the JSON of an answer. */
export class Failed extends Error {}

/** The program refused. Nothing was changed, unless a finding says so. */
export class Refused extends Error {
  /** Every reason, the most important first. */
  readonly findings: Finding[];
  /** Their codes. */
  readonly codes: string[];
  /** The whole answer. */
  readonly answer: Record<string, unknown>;
}

/**
 * A worktree of a Git repository. Every method rejects with `Refused` if edt refuses, and with
 * `Failed` if it cannot be started.
 */
export class Workspace {
  constructor(path?: string, options?: WorkspaceOptions);
  readonly path: string;
  readonly agent: string | undefined;
  readonly program: string;
  /** Applies edits as one transaction: all or none, recorded as one commit. */
  apply(edits: Edit | Edit[], options?: RequestOptions): Promise<Outcome>;
  /** Applies a unified diff, a `*** Begin Patch` patch or SEARCH/REPLACE blocks. */
  patch(patch: string, options?: RequestOptions): Promise<Outcome>;
  /** A file with its blob id. */
  read(path: string): Promise<Text>;
  /** Undoes the latest edits. */
  undo(steps?: number): Promise<Outcome>;
  /** Redoes the last undo. */
  redo(): Promise<Outcome>;
  /** Reverts edits as a new commit; later edits stay. */
  revert(...edits: number[]): Promise<Outcome>;
  /** Restores a file to its content before its latest edit, as a new commit. */
  restore(path: string): Promise<Outcome>;
  /** Squashes the session into one commit on the branch it began from. */
  land(message?: string): Promise<Outcome>;
  /** The session, what is uncommitted, and what waits. */
  status(): Promise<Record<string, unknown>>;
  /** The commits of the session, the newest first. */
  log(): Promise<Commit[]>;
  /** The answer of any command that has `--json`. */
  json(command: string, ...words: string[]): Promise<any>;
}

/** The program: the one that EDT_PROGRAM names, that of this platform's package, or that of PATH. */
export function findProgram(): string;
