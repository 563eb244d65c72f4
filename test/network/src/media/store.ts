/** What media hosts hold: encrypted files by their path, which they cannot read. */
export interface MediaStore {
  /** `127.0.0.1:port`, as told to clients. */
  readonly host: string;
  /** What a client must show at an upload. */
  readonly auth: string;
}
