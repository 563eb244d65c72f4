import { computeHealthScore } from '@gwk/core/health/score';
import { toPublicId } from '@gwk/core/ids';
import { HealthOut } from '@gwk/core/resources/health';
import { operation } from '../../http/operation.js';
import { findInstance } from '../find.js';
import { gatherHealthFacts } from './facts.js';

export const healthOperations = [
  operation({
    name: 'getHealth',
    method: 'GET',
    path: '/v1/instances/{instance_id}/health',
    summary: 'Health of a number: a score, what it is made of, and what to do',
    scope: 'instances:read',
    status: 200,
    result: HealthOut,
    async handle({ caller, params, services }) {
      const instance = await findInstance(services.db, caller, params['instance_id']!);
      const facts = await gatherHealthFacts(services.db, instance, services.environmentPolicy);
      return {
        status: 200,
        body: {
          instance_id: toPublicId('instance', instance.id),
          computed_at: facts.now.toISOString(),
          ...computeHealthScore(facts),
        },
      };
    },
  }),
];
