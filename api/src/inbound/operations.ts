import { SandboxInbound, SandboxInboundOut } from '../resources/sandbox.js';
import { operation } from '../http/operation.js';
import { receiveInSandbox } from './sandbox.js';

export const inboundOperations = [
  operation({
    name: 'simulateInbound',
    method: 'POST',
    path: '/v1/instances/{instance_id}/sandbox/inbound',
    summary: 'Have a contact write to a sandbox, click, vote or call, or change a group',
    scope: 'messages:send',
    status: 200,
    body: SandboxInbound,
    result: SandboxInboundOut,
    problems: ['not-sandbox', 'invalid-phone', 'storage-limit-reached'],
    idempotent: true,
    async handle({ caller, params, body, resourceId, services, note }) {
      const instanceId = params['instance_id']!;
      const received = await receiveInSandbox(services, caller, { instanceId, id: resourceId, body });
      note(received.message_id ?? received.event_id);
      return { status: 200, body: received };
    },
  }),
];
