import { Anchor, Box, Select, Table } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { InstanceSelect, useInstanceName } from '../ui/instance-select';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { Time } from '../ui/time';
import { EVENT_TYPES } from '../webhooks/event-types';

type Event = components['schemas']['EventOut'];
/** The list can be filtered by all types but these. */
type FilterType = Exclude<Event['type'], 'contact.opted_out' | 'contact.opted_in'>;
const FILTERABLE = EVENT_TYPES.filter((type): type is FilterType => !type.startsWith('contact.'));

/** The events of the account as they happen, newest first. */
export default function EventsPage() {
  const { t } = useTranslation();
  const { id, gwk } = useAccount();
  const [instance, setInstance] = useFilter('number');
  const [type, setType] = useFilter('type');
  const filter = {
    ...(instance !== null && { instance_id: instance }),
    ...(type !== null && { type: type as FilterType }),
  };
  const pages = usePages([id, 'events', filter], (cursor) =>
    gwk.events.list({ ...filter, ...(cursor !== undefined && { cursor }) }),
  );
  return (
    <>
      <PageHeader title={t('events.title')} subtitle={t('events.subtitle')} />
      <Box className="filters">
        <InstanceSelect value={instance} onChange={setInstance} />
        <Select
          label={t('events.type')}
          placeholder={t('common.all')}
          data={FILTERABLE}
          value={type}
          onChange={setType}
          searchable
          clearable
        />
      </Box>
      <PagesView pages={pages} empty={<EmptyState title={t('events.empty')} help={t('events.emptyHelp')} />}>
        {(rows) => <EventsTable events={rows} />}
      </PagesView>
    </>
  );
}

function EventsTable({ events }: { events: Event[] }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const nameOf = useInstanceName();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('events.type')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('common.number')}</Table.Th>
          <Table.Th>{t('common.time')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {events.map((event) => (
          <Table.Tr key={event.id}>
            <Table.Td>
              <Anchor component={Link} to={path(`events/${event.id}`)}>
                {event.type}
              </Anchor>
            </Table.Td>
            <Table.Td visibleFrom="sm" className="wrap">
              {event.instance_id && nameOf(event.instance_id)}
            </Table.Td>
            <Table.Td>
              <Time value={event.timestamp} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
