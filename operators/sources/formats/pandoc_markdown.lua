-- Text without backslashes, each table cell on one line, and the title as the first heading.

local function on_one_line(blocks)
  local inlines = pandoc.utils.blocks_to_inlines(blocks, {pandoc.Space()})
  return inlines:walk {SoftBreak = pandoc.Space}
end

function Str(s)
  -- What may begin a block of Markdown stays escaped.
  if s.text:match("^[%w,.;:'\"()]*$") or s.text:match("^[#<>`~=+-]") then
    return nil
  end
  return pandoc.RawInline("gfm", s.text)
end

function LineBreak()
  return pandoc.SoftBreak()
end

function Image(image)
  return image.caption
end

function Link(link)
  if link.target:match("^#") then
    return link.content
  end
end

function Header(header)
  header.content = header.content:walk {SoftBreak = pandoc.Space}
  return header
end

-- A table with a heading or a table in it is the layout of a page.
function Table(t)
  local layout = false
  local function found() layout = true end
  for _, body in ipairs(t.bodies) do
    for _, row in ipairs(body.body) do
      for _, cell in ipairs(row.cells) do
        cell.contents:walk {Header = found, Table = found}
      end
    end
  end
  local simple = pandoc.utils.to_simple_table(t)
  local rows = pandoc.List(simple.rows)
  if layout then
    rows:insert(1, simple.headers)
    local blocks = pandoc.Blocks {}
    for _, row in ipairs(rows) do
      for _, cell in ipairs(row) do blocks:extend(cell) end
    end
    return blocks
  end
  local function flat(row)
    return pandoc.List(row):map(function(cell) return {pandoc.Plain(on_one_line(cell))} end)
  end
  simple.headers, simple.rows = flat(simple.headers), rows:map(flat)
  return pandoc.utils.from_simple_table(simple)
end

function Pandoc(document)
  local title = document.meta.title
  if pandoc.utils.type(title) == "Inlines" then
    document.blocks:insert(1, pandoc.Header(1, title))
  end
  return document
end
