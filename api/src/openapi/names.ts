import * as policy from '@gwk/core/policy/policy';
import * as availability from '@gwk/core/resources/availability';
import * as content from '@gwk/core/resources/content';
import * as event from '@gwk/core/resources/event';
import * as health from '@gwk/core/resources/health';
import * as instance from '@gwk/core/resources/instance';
import * as interactiveStatus from '@gwk/core/resources/interactive-status';
import * as live from '@gwk/core/resources/live';
import * as media from '@gwk/core/resources/media';
import * as message from '@gwk/core/resources/message';
import * as optOut from '@gwk/core/resources/opt-out';
import * as pairing from '@gwk/core/resources/pairing';
import * as problem from '@gwk/core/resources/problem';
import * as sandbox from '@gwk/core/resources/sandbox';
import * as webhook from '@gwk/core/resources/webhook';
import { z } from 'zod';

/** Modules whose exported schemas become shared components; generated clients take their names from them. */
const MODULES: readonly Record<string, unknown>[] = [
  availability,
  content,
  event,
  health,
  instance,
  interactiveStatus,
  live,
  media,
  message,
  optOut,
  pairing,
  policy,
  problem,
  sandbox,
  webhook,
];

/** Schemas of queries, whose fields become single parameters. */
const SPREAD = /Query$/;

/** Component names of the schemas: the names of their exports. */
const NAMES: ReadonlyMap<unknown, string> = new Map(
  MODULES.flatMap((module) =>
    Object.entries(module)
      .filter(([name, value]) => value instanceof z.ZodObject && !SPREAD.test(name))
      .map(([name, value]): [unknown, string] => [value, name]),
  ),
);

/** Registry of the schemas' metadata and names. */
class NamingRegistry extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<z.core.GlobalMeta, S> | undefined {
    const meta = z.globalRegistry.get(schema);
    const id = NAMES.get(schema);
    return id === undefined ? meta : { ...meta, id };
  }
}

export const registry = new NamingRegistry();
