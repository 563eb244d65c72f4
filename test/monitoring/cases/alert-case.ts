/** Input series in promtool notation (one value a minute), and the alerts expected at one time. */
export interface AlertCase {
  name: string;
  alert: string;
  series: Record<string, string>;
  at: string;
  /** Expected alerts. Empty: the alert must not fire. */
  fires: { labels?: Record<string, string>; description: string }[];
}

export const quiet = { fires: [] };
