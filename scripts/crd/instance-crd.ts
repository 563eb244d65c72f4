import { z } from 'zod';
import { PolicyOverrides } from '@gwk/api/policy/policy';
import {
  API_GROUP,
  API_VERSION,
  InstanceResourceStatus,
  InstanceSpec,
  SERVED_VERSIONS,
} from '@gwk/core/resources/manifest';

interface Rule {
  rule: string;
  message: string;
  fieldPath?: string;
}

const rules = (...list: Rule[]) => ({ 'x-kubernetes-validations': list });

/** Rules over several fields. The API server checks them before it stores a resource. */
const NAME_RULES = rules({
  rule: 'self.metadata.name.size() <= 63',
  message: 'the name must have at most 63 characters, because it is part of pod names',
});
const SPEC_RULES = rules(
  {
    rule: 'self.kind == oldSelf.kind',
    message: 'kind cannot change; create another instance',
    fieldPath: '.kind',
  },
  {
    rule: 'self.account == oldSelf.account',
    message: 'account cannot change; create another instance',
    fieldPath: '.account',
  },
);
const HOURS_RULES = rules({
  rule: '(has(self.start) && has(self.end) && has(self.timezone)) || (!has(self.start) && !has(self.end) && !has(self.timezone))',
  message: 'start, end and timezone go together',
});

/** Postgres cannot store NUL. */
const NO_NUL = '^[^\\x00]*$';

/** The CustomResourceDefinition of Instance; `make crds` generates crds/ and the chart's copy from it. */
export function instanceCrd(): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `instances.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      names: {
        kind: 'Instance',
        listKind: 'InstanceList',
        plural: 'instances',
        singular: 'instance',
        shortNames: ['gwi'],
        categories: ['gwk'],
      },
      scope: 'Namespaced',
      // The versions differ in their names alone, so the API server converts by renaming.
      conversion: { strategy: 'None' },
      versions: SERVED_VERSIONS.map(version),
    },
  };
}

function version(name: string): object {
  const newest = `${API_GROUP}/${API_VERSION}`;
  return {
    name,
    served: true,
    storage: name === API_VERSION,
    ...(name !== API_VERSION && {
      deprecated: true,
      deprecationWarning: `${API_GROUP}/${name} Instance is deprecated; use ${newest}`,
    }),
    subresources: { status: {} },
    additionalPrinterColumns: COLUMNS,
    selectableFields: SELECTABLE.map((jsonPath) => ({ jsonPath })),
    schema: { openAPIV3Schema: schema() },
  };
}

/** Field selectors of lists and watches. Kubernetes 1.30 ignores them, 1.31 and later serve them. */
const SELECTABLE = ['.spec.account', '.spec.kind', '.spec.interactiveMode', '.spec.suspended'];

const column = (name: string, jsonPath: string, more: { type?: string; priority?: number } = {}) => ({
  name,
  type: 'string',
  jsonPath,
  ...more,
});
const conditionPath = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

/** `-o wide` shows the columns with priority 1 too. */
const COLUMNS = [
  column('Ready', conditionPath('Ready', 'status')),
  column('State', '.status.state'),
  column('Mode', '.spec.interactiveMode'),
  column('Engine', '.status.engine.version'),
  column('Age', '.metadata.creationTimestamp', { type: 'date' }),
  column('Reason', conditionPath('Ready', 'reason'), { priority: 1 }),
  column('UpToDate', conditionPath('UpToDate', 'status'), { priority: 1 }),
  column('Account', '.spec.account', { priority: 1 }),
  column('Id', '.status.id', { priority: 1 }),
  column('Node', '.status.engine.node', { priority: 1 }),
];

function schema(): object {
  return {
    type: 'object',
    description: 'A phone number, connected by its own engine.',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { ...toStructuralSchema(SPEC), ...SPEC_RULES },
      status: toStructuralSchema(InstanceResourceStatus),
    },
    ...NAME_RULES,
  };
}

/** zod drops the description when a schema is extended. */
const SPEC = InstanceSpec.extend({
  policy: PolicyOverrides.meta({
    description: 'Overrides of the account policy. Keys that are not set come from the account.',
  }).optional(),
}).meta(InstanceSpec.meta() ?? {});

/** Keywords of fields that a JSON Schema cannot express. */
const FIELD_KEYWORDS: Readonly<Record<string, object>> = {
  account: { pattern: NO_NUL },
  displayName: { pattern: NO_NUL },
  active_hours: HOURS_RULES,
  // Not an enum: after a rollback, an older operator must be able to write beside conditions of a newer one.
  type: { enum: undefined, minLength: 1, maxLength: 316 },
  // A map by type, so that several writers can own different conditions.
  conditions: {
    default: undefined,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  },
};

/** @returns the structural OpenAPI v3 schema of the input, with the keywords that the Kubernetes API server supports */
function toStructuralSchema(schema: z.ZodType): object {
  return z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override({ jsonSchema, path }) {
      delete jsonSchema.additionalProperties;
      if (jsonSchema.type === 'integer') Object.assign(jsonSchema, { format: 'int64' });
      // zod's bounds of integers without bounds.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      Object.assign(jsonSchema, FIELD_KEYWORDS[path.at(-1) ?? '']);
    },
  });
}
