import { MultiSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Endpoint } from './webhooks-page';

export type EventType = Endpoint['event_types'][number];

const EXPLAINED: Record<EventType, true> = {
  'message.received': true,
  'message.sent_from_device': true,
  'message.sent': true,
  'message.failed': true,
  'message.status_updated': true,
  'message.interactive_reply': true,
  'message.edited': true,
  'message.deleted': true,
  'message.reaction': true,
  'instance.qr': true,
  'instance.passkey_requested': true,
  'instance.pairing_failed': true,
  'instance.paired': true,
  'instance.connected': true,
  'instance.disconnected': true,
  'instance.logged_out': true,
  'instance.banned': true,
  'call.received': true,
  'group.updated': true,
  'webhook.test': true,
  'contact.opted_out': true,
  'contact.opted_in': true,
  'contact.updated': true,
};
/** The compiler compares this list with the interface. */
export const EVENT_TYPES = Object.keys(EXPLAINED) as EventType[];

interface EventTypesInputProps {
  value: EventType[];
  onChange: (value: EventType[]) => void;
}

export function EventTypesInput({ value, onChange }: EventTypesInputProps) {
  const { t } = useTranslation();
  const explanations = t('eventTypes', { returnObjects: true });
  return (
    <MultiSelect
      label={t('webhooks.events')}
      description={t('webhooks.eventsHelp')}
      data={EVENT_TYPES.map((type) => ({ value: type, label: type }))}
      renderOption={({ option }) => (
        <span>
          <b>{option.value}</b>
          <br />
          {explanations[option.value]}
        </span>
      )}
      value={value}
      onChange={(types) => onChange(types)}
      searchable
      clearable
    />
  );
}
