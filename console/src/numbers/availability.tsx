import { Box, Button, Group, Paper, SimpleGrid, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { formatDuration } from '../ui/duration';
import { QueryView } from '../ui/query-view';
import { formatTime } from '../ui/time';
import type { Instance } from './queries';
import { StateBadge } from './state-badge';

type Month = components['schemas']['AvailabilityOut'];
const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const LIVE_MONTH_MS = 60_000;

const monthOf = (date = new Date()): string =>
  `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`;

/** The days of a month with the share of each day that the number was connected, and the incidents. */
export function Availability({ instance: { id: instanceId } }: { instance: Instance }) {
  const { t, i18n } = useTranslation();
  const { id, gwk } = useAccount();
  const [first, setFirst] = useState(() => new Date(new Date().getFullYear(), new Date().getMonth(), 1));
  const month = monthOf(first);
  const availability = useQuery({
    queryKey: [id, 'availability', instanceId, month],
    queryFn: () => gwk.instances.getAvailability(instanceId, { month, timezone: TIME_ZONE }),
    refetchInterval: LIVE_MONTH_MS,
  });
  const move = (by: number) => setFirst(new Date(first.getFullYear(), first.getMonth() + by, 1));
  return (
    <Stack>
      <Group>
        <Button
          variant="default"
          size="xs"
          onClick={() => move(-1)}
          leftSection={<IconChevronLeft size={14} />}
        >
          {t('availability.previous')}
        </Button>
        <Title order={2} size="h4" aria-live="polite">
          {first.toLocaleDateString(i18n.language, { month: 'long', year: 'numeric' })}
        </Title>
        <Button
          variant="default"
          size="xs"
          onClick={() => move(1)}
          disabled={month >= monthOf()}
          rightSection={<IconChevronRight size={14} />}
        >
          {t('availability.next')}
        </Button>
      </Group>
      <QueryView query={availability}>
        {(found) => (
          <Stack>
            <Calendar month={found} first={first} />
            <Incidents incidents={found.incidents} />
          </Stack>
        )}
      </QueryView>
    </Stack>
  );
}

function Calendar({ month, first }: { month: Month; first: Date }) {
  const { t, i18n } = useTranslation();
  const weekdays = Array.from({ length: 7 }, (_, day) =>
    new Date(2023, 0, 1 + day).toLocaleDateString(i18n.language, { weekday: 'short' }),
  );
  return (
    <Paper withBorder p="md" maw={640}>
      <Text mb="sm">
        {month.uptime === null
          ? t('availability.none')
          : t('availability.month', { percent: formatPercent(month.uptime, i18n.language) })}
      </Text>
      <SimpleGrid cols={7} spacing={4} verticalSpacing={4}>
        {weekdays.map((name) => (
          <Text key={name} size="xs" ta="center" c="dimmed">
            {name}
          </Text>
        ))}
        {Array.from({ length: first.getDay() }, (_, index) => (
          <span key={index} />
        ))}
        {month.days.map(({ date, uptime }) => (
          <Day key={date} day={Number(date.slice(8))} uptime={uptime} />
        ))}
      </SimpleGrid>
    </Paper>
  );
}

function Day({ day, uptime }: { day: number; uptime: number | null }) {
  const { t, i18n } = useTranslation();
  const text = uptime === null ? t('availability.noData') : formatPercent(uptime, i18n.language);
  return (
    <Tooltip label={`${day}: ${text}`}>
      <Box bg={colorOf(uptime)} p={4} ta="center" bdrs="sm">
        <Text size="xs" fw={600}>
          {day}
        </Text>
        <Text size="xs" visibleFrom="xs">
          {uptime === null ? '–' : text}
        </Text>
      </Box>
    </Tooltip>
  );
}

function colorOf(uptime: number | null): string {
  if (uptime === null) return 'var(--mantine-color-default-hover)';
  const color = uptime >= 99.5 ? 'teal' : uptime >= 95 ? 'yellow' : 'red';
  return `var(--mantine-color-${color}-light)`;
}

const formatPercent = (percent: number, language: string): string =>
  (percent / 100).toLocaleString(language, { style: 'percent', maximumFractionDigits: 2 });

function Incidents({ incidents }: { incidents: Month['incidents'] }) {
  const { t, i18n } = useTranslation();
  if (incidents.length === 0) return <Text c="dimmed">{t('availability.noIncidents')}</Text>;
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table>
        <Table.Caption>{t('availability.incidents')}</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('availability.start')}</Table.Th>
            <Table.Th>{t('availability.duration')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th>{t('availability.reason')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {incidents.map(({ start, end, duration_s, state, reason }) => (
            <Table.Tr key={start}>
              <Table.Td>{formatTime(start, i18n.language)}</Table.Td>
              <Table.Td>
                {formatDuration(duration_s, i18n.language)}
                {end === null && ` (${t('availability.ongoing')})`}
              </Table.Td>
              <Table.Td>
                <StateBadge state={state} />
              </Table.Td>
              <Table.Td>{reason}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
