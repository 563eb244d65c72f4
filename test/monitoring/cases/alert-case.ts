/** What Prometheus sees (in its notation: one value a minute), and what it is to alert of at a time. */
export interface AlertCase {
  name: string;
  alert: string;
  series: Record<string, string>;
  at: string;
  /** None: quiet. */
  fires: { labels?: Record<string, string>; description: string }[];
}

export const quiet = { fires: [] };
