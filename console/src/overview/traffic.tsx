import { Box, Group, SegmentedControl, Stack, Table, Title, VisuallyHidden } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { components } from '../generated/api';
import { CHART_HEIGHT, SERIES } from './series';

type Point = components['schemas']['OverviewOut']['hours'][number];

const PERIODS = ['hours', 'days'] as const;
type Period = (typeof PERIODS)[number];
const VIEWS = ['chart', 'table'] as const;

/** Days begin in UTC; hours are shown in the time zone of the browser. */
const FORMATS: Record<Period, Intl.DateTimeFormatOptions> = {
  hours: { hour: '2-digit', minute: '2-digit' },
  days: { day: '2-digit', month: '2-digit', timeZone: 'UTC' },
};
/** Starts to load with the page, which does not wait for the large package of charts. */
const chart = import('./traffic-chart');
const TrafficChart = lazy(() => chart);

/** Messages by hour or day. The table is always there for screen readers, which cannot read the chart. */
export function Traffic({ hours, days }: { hours: Point[]; days: Point[] }) {
  const { t, i18n } = useTranslation();
  const [period, setPeriod] = useState<Period>('hours');
  const [view, setView] = useState<(typeof VIEWS)[number]>('chart');
  const format = new Intl.DateTimeFormat(i18n.language, FORMATS[period]);
  const points = (period === 'hours' ? hours : days).map((point) => ({
    ...point,
    label: format.format(new Date(point.start)),
  }));
  const table = <TrafficTable points={points} period={period} />;
  return (
    <Stack component="section" gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('overview.messages')}
        </Title>
        <Group gap="sm">
          <SegmentedControl
            aria-label={t('overview.period')}
            data={PERIODS.map((value) => ({ value, label: t(`overview.${value}`) }))}
            value={period}
            onChange={setPeriod}
          />
          <SegmentedControl
            aria-label={t('overview.view')}
            data={VIEWS.map((value) => ({ value, label: t(`overview.${value}`) }))}
            value={view}
            onChange={setView}
          />
        </Group>
      </Group>
      {view === 'table' ? (
        table
      ) : (
        <>
          <Box aria-hidden>
            <Suspense fallback={<Box h={CHART_HEIGHT} />}>
              <TrafficChart points={points} />
            </Suspense>
          </Box>
          <VisuallyHidden component="div">{table}</VisuallyHidden>
        </>
      )}
    </Stack>
  );
}

function TrafficTable({ points, period }: { points: (Point & { label: string })[]; period: Period }) {
  const { t, i18n } = useTranslation();
  return (
    <Table aria-label={`${t('overview.messages')}: ${t(`overview.${period}`)}`}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">{t(period === 'hours' ? 'overview.hour' : 'overview.day')}</Table.Th>
          {SERIES.map(({ name }) => (
            <Table.Th key={name} scope="col" ta="right">
              {t(`overview.${name}`)}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {points.map((point) => (
          <Table.Tr key={point.start}>
            <Table.Th scope="row">{point.label}</Table.Th>
            {SERIES.map(({ name }) => (
              <Table.Td key={name} ta="right">
                {point[name].toLocaleString(i18n.language)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
