/** Something that keeps numbers connected, as the benchmark of density looks at it. */
export interface Subject {
  name: string;
  /** How its processes are divided: for the page. */
  kind: string;
  /** So many numbers in all, each connected. */
  grow(count: number): Promise<void>;
  /** Processes that there are more of with more numbers, or one that grows. */
  pids(): number[];
  /** What else has to run, however many numbers there are. */
  around(): number[];
}
