import { readFileSync } from 'node:fs';
import { CLIENT_VERSION_MEANING, CLIENT_VERSION_SETTING } from '@gwk/core/client-version';
import { parse } from 'yaml';
import { z } from 'zod';

/**
 * Engine profiles: images, resources and placement, by the name that resources choose. Only the operator's
 * administrator writes them. The API server validates the placement fields.
 */
const anything = z.record(z.string(), z.unknown());

const Profile = z.strictObject({
  image: z.string().min(1),
  /** Shown in the status; by default the tag of the image. */
  version: z.string().min(1).max(63).optional(),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  imagePullSecrets: z.array(z.strictObject({ name: z.string().min(1) })).default([]),
  command: z.array(z.string()).optional(),
  resources: anything.default({
    requests: { cpu: '20m', memory: '128Mi' },
    limits: { memory: '256Mi' },
  }),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  tolerations: z.array(anything).default([]),
  affinity: anything.optional(),
  topologySpreadConstraints: z.array(anything).default([]),
  priorityClassName: z.string().optional(),
  runtimeClassName: z.string().optional(),
  schedulerName: z.string().optional(),
  /** Account of the pods, which mount no token of it. It must exist in the namespaces of the Instances. */
  serviceAccountName: z.string().min(1).optional(),
  dnsPolicy: z.string().optional(),
  dnsConfig: anything.optional(),
  hostAliases: z.array(anything).optional(),
  /** Fields added to a security context, or replacing its fields. Null removes one. */
  podSecurityContext: anything.default({}),
  containerSecurityContext: anything.default({}),
  terminationGracePeriodSeconds: z.int().min(1).max(600).default(30),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
  /** Proxy of the connection to the network. Its Secret must exist in the namespaces of the Instances. */
  proxy: z
    .strictObject({
      secretName: z.string().min(1),
      urlKey: z.string().min(1).default('proxy-url'),
      /** Certificate authority of an https proxy. */
      caKey: z.string().min(1).optional(),
      noProxy: z.array(z.string().min(1)).default([]),
    })
    .optional(),
  /** Client version to announce to the network (GWK_ENGINE_CLIENT_VERSION). By default that of the operator's setting. */
  clientVersion: z
    .string()
    .regex(CLIENT_VERSION_SETTING, `must be auto, bundled, or ${CLIENT_VERSION_MEANING}`)
    .optional(),
  /** Additional environment variables, for example for time zones. */
  env: z.array(z.strictObject({ name: z.string().min(1), value: z.string() })).default([]),
});
export type Profile = z.infer<typeof Profile>;

const Profiles = z.record(z.string().min(1).max(63), Profile);
export type Profiles = z.infer<typeof Profiles>;

/** @throws Error that names the file and every fault */
export function readProfiles(path: string): Profiles {
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path} is not readable: ${(error as Error).message}`, { cause: error });
  }
  const result = Profiles.safeParse(content);
  if (!result.success) {
    const faults = result.error.issues.map((issue) => `  - ${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`${path} contains invalid engine profiles:\n${faults.join('\n')}`);
  }
  if (!result.data['default']) throw new Error(`${path} has no profile "default"`);
  return result.data;
}

/** Returns the version, by default the image tag. An image with only a digest has none. */
export function readVersion({ version, image }: Profile): string {
  if (version !== undefined) return version;
  const [name = ''] = image.split('@');
  return /:([\w][\w.-]{0,62})$/.exec(name)?.[1] ?? 'unknown';
}
